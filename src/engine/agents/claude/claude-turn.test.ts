import { expect, test } from 'vitest';
import type { JsonObject } from '../agent.ts';
import { followClaude } from './claude-turn.ts';

function open(message = async (_type: string, _payload: JsonObject) => {}) {
  const told: [string, unknown][] = [];
  const request = { id: 'message-1' };
  let heard = 0;
  const following = followClaude({
    request,
    async message(type, payload) {
      told.push([type, payload.subtype ?? payload.uuid]);
      await message(type, payload);
    },
    delta: async ({ type, ...rest }) => void told.push([String(type), rest]),
    heard() {
      heard += 1;
    },
  });
  const lifecycle = (state: string, command_uuid = request.id) =>
    following.hear({ type: 'command_lifecycle', command_uuid, state });
  return { told, following, lifecycle, heard: () => heard };
}

const piece = (delta: object, parent_tool_use_id: string | null = null) => ({
  type: 'stream_event',
  parent_tool_use_id,
  event: { type: 'content_block_delta', delta },
});

test('words come live before the message that they are of, and those of helpers do not', async () => {
  const { told, following } = open();
  await following.hear(piece({ type: 'thinking_delta', thinking: 'Hm.' }));
  await following.hear(piece({ type: 'text_delta', text: 'Hel' }));
  await following.hear(piece({ type: 'text_delta', text: 'lo' }));
  await following.hear(piece({ type: 'text_delta', text: 'secretly' }, 'toolu_1'));
  await following.hear(piece({ type: 'signature_delta', signature: 'x' }));
  await following.hear({
    type: 'assistant',
    uuid: 'a',
    message: { content: [{ type: 'text', text: 'Hello' }] },
  });
  expect(told).toEqual([
    ['thinking', { text: 'Hm.' }],
    ['text', { text: 'Hello' }],
    ['claude-assistant', 'a'],
  ]);
});

test('tools and their results are shown', async () => {
  const { told, following } = open();
  const use = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } };
  await following.hear({ type: 'assistant', uuid: 'a', message: { content: [use] } });
  const content = [
    { type: 'text', text: 'x' },
    { type: 'image', source: {} },
  ];
  const results = [
    { type: 'tool_result', tool_use_id: 't1', content: 'out', is_error: true },
    { type: 'tool_result', tool_use_id: 't2', content },
    { type: 'tool_result', tool_use_id: 't3' },
  ];
  await following.hear({ type: 'user', uuid: 'u', message: { content: results } });
  expect(told).toEqual([
    ['claude-assistant', 'a'],
    ['tool', { id: 't1', name: 'Bash', input: { command: 'ls' } }],
    ['claude-user', 'u'],
    ['tool_result', { id: 't1', output: 'out', isError: true }],
    ['tool_result', { id: 't2', output: 'x\n[image]', isError: false }],
    ['tool_result', { id: 't3', output: '', isError: false }],
  ]);
});

test('of what claude says about itself only what lasts is kept', async () => {
  const { told, following } = open();
  for (const subtype of ['init', 'status', 'thinking_tokens', 'compact_boundary', 'something_new'])
    await following.hear({ type: 'system', subtype });
  const retry = { attempt: 1, max_retries: 3, error_status: 529, error: 'overloaded' };
  await following.hear({ type: 'system', subtype: 'api_retry', ...retry });
  expect(told).toEqual([
    ['claude-system', 'init'],
    ['claude-system', 'compact_boundary'],
    ['retry', { message: 'The model did not answer (529). Attempt 1 of 3 follows.' }],
  ]);
});

test.each(['completed', 'cancelled'])(
  'the turn is over when its own message is %s, with its result',
  async (end) => {
    const { following, lifecycle } = open();
    let isDone = false;
    void following.done.then(() => {
      isDone = true;
    });
    await lifecycle('queued');
    await lifecycle('started');
    await lifecycle(end, 'another');
    const result = { type: 'result', subtype: 'success', is_error: false };
    await following.hear(result);
    expect(isDone).toBe(false);
    await lifecycle(end);
    expect(await following.done).toBe(result);
  },
);

test('a message that was never begun has no result', async () => {
  const { following, lifecycle } = open();
  await lifecycle('cancelled');
  expect(await following.done).toBeNull();
});

test('what cannot be reported ends the turn', async () => {
  const { following } = open(() => Promise.reject(new Error('the disk is full')));
  await following.hear({ type: 'assistant', message: {} });
  await expect(following.done).rejects.toThrow('the disk is full');
});

test.each([
  {},
  { type: 'assistant' },
  { type: 'user', message: { content: 'text' } },
  { type: 'stream_event' },
])('what has not the expected form breaks nothing: %j', async (message) => {
  const { following, lifecycle } = open();
  await following.hear(message);
  await lifecycle('completed');
  expect(await following.done).toBeNull();
});

test('words of helpers are a sign of life, and the passing of time is none', async () => {
  const { told, following, heard } = open();
  await following.hear(piece({ type: 'text_delta', text: 'secretly' }, 'toolu_1'));
  expect(heard()).toBe(1);
  await following.hear({ type: 'keep_alive' });
  await following.hear({ type: 'tool_progress', tool_use_id: 'toolu_1', elapsed_time_seconds: 30 });
  expect(heard()).toBe(1);
  expect(told).toEqual([]);
});
