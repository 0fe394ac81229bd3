import { expect, test, vi } from 'vitest';
import { turnRequest } from '../../../../test/engine/turn-request.ts';
import type { JsonObject } from '../agent.ts';
import { followCursor } from './cursor-turn.ts';

const ids = { agent_id: 'agent-1', run_id: 'run-1' };
const text = (piece: string) => ({
  ...ids,
  type: 'assistant',
  message: { role: 'assistant', content: [{ type: 'text', text: piece }] },
});
const thought = (piece: string) => ({ ...ids, type: 'thinking', text: piece });
const call = (call_id: string, status: string, args: object, result?: unknown) => ({
  ...ids,
  ...{ type: 'tool_call', call_id, name: 'shell', status, args, result },
});

function listen({ planMode = false } = {}) {
  const messages: [string, JsonObject][] = [];
  const deltas: JsonObject[] = [];
  const turn = followCursor({
    request: turnRequest({ message: 'Hello', planMode }),
    message: async (type, payload) => void messages.push([type, payload]),
    delta: async (event) => void deltas.push(event),
  });
  return {
    turn,
    messages,
    deltas,
    hear: async (said: JsonObject[]) => {
      for (const message of said) await turn.hear(message);
    },
  };
}

test('pieces of the same kind become one message, in the order in which they came', async () => {
  const { turn, messages, deltas, hear } = listen();
  await hear([
    thought('Let me '),
    thought('see.'),
    { ...thought(''), thinking_duration_ms: 7 },
    text('One '),
    text('two.'),
    { ...ids, type: 'usage', usage: {} },
    { ...ids, type: 'user', message: {} },
    text(' Three.'),
    { ...ids, type: 'status', status: 'FINISHED' },
  ]);
  await turn.finish();
  expect(messages).toEqual([
    ['cursor-thinking', { ...thought('Let me see.'), thinking_duration_ms: 7 }],
    ['cursor-assistant', text('One two. Three.')],
    ['cursor-status', { ...ids, type: 'status', status: 'FINISHED' }],
  ]);
  expect(deltas).toEqual([
    { type: 'thinking', text: 'Let me see.' },
    { type: 'text', text: 'One two. Three.' },
  ]);
});

test('a call is shown once, as a whole, and then what came of it', async () => {
  const { messages, deltas, hear } = listen();
  const args = { command: 'ls' };
  await hear([
    call('1', 'running', {}),
    call('1', 'running', args),
    call('1', 'completed', args, { status: 'success', value: 'ok' }),
  ]);
  expect(messages.map(([type, { status }]) => [type, status])).toEqual([
    ['cursor-tool_call', 'running'],
    ['cursor-tool_call', 'completed'],
  ]);
  expect(deltas).toEqual([
    { type: 'tool', id: '1', name: 'shell', input: args },
    { type: 'tool_result', id: '1', output: 'ok', isError: false },
  ]);
});

test('a call that takes long is shown before it ends', async () => {
  const { deltas, hear } = listen();
  await hear([call('1', 'running', { command: 'sleep 100' })]);
  await vi.waitFor(() => expect(deltas).toHaveLength(1));
  await hear([call('1', 'running', { command: 'sleep 100' })]);
  await hear([call('1', 'error', {}, { status: 'error', error: 'No.' })]);
  expect(deltas.map(({ type }) => type)).toEqual(['tool', 'tool_result']);
});

test('calls beside each other are all shown, also one whose beginning was not heard', async () => {
  const { deltas, hear } = listen();
  await hear([
    call('1', 'running', { command: 'a' }),
    call('2', 'running', { command: 'b' }),
    call('2', 'completed', { command: 'b' }),
    call('1', 'completed', { command: 'a' }),
    call('3', 'completed', { command: 'c' }),
  ]);
  expect(deltas.map(({ type, id }) => `${type} ${id}`)).toEqual([
    'tool 1',
    'tool 2',
    'tool_result 2',
    'tool_result 1',
    'tool 3',
    'tool_result 3',
  ]);
});

test.each([
  [[{ ...call('1', 'running', { plan: '# A plan' }), name: 'createPlan' }, text('There it is.')], '# A plan'],
  [
    [text('First.'), { ...ids, type: 'status', status: 'RUNNING' }, text('This is the plan.')],
    'This is the plan.',
  ],
])('the plan is what was written down, else what was said last', async (said, plan) => {
  const { turn, deltas, hear } = listen({ planMode: true });
  await hear(said);
  await turn.finish();
  expect(deltas.filter(({ type }) => type === 'plan')).toEqual([{ type: 'plan', text: plan }]);
});

test('what was said is kept when the turn breaks off, and is no plan', async () => {
  const { turn, messages, deltas, hear } = listen({ planMode: true });
  await hear([text('Half a ')]);
  await turn.settle();
  expect(messages).toEqual([['cursor-assistant', text('Half a ')]]);
  expect(deltas).toEqual([{ type: 'text', text: 'Half a ' }]);
});
