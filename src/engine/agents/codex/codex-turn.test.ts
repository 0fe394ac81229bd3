import { afterEach, describe, expect, test, vi } from 'vitest';
import { turnRequest } from '../../../../test/engine/turn-request.ts';
import type { JsonObject } from '../agent.ts';
import type { RolloutLine } from './codex-rollout.ts';
import { followCodex } from './codex-turn.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** One message, what codex has written about it, and what came of it. */
function follow(request: { planMode?: boolean } = {}) {
  const written: RolloutLine[] = [];
  const told: string[] = [];
  let heard = 0;
  const followed = followCodex(
    {
      request: turnRequest({ message: 'x', ...request }),
      message: async (type, payload) => void told.push(`${type} ${payload.type}`),
      delta: async ({ type, text, status }) => void told.push(`${type} ${text ?? status ?? ''}`.trim()),
      heard() {
        heard += 1;
      },
    },
    { threadId: 'own', rollout: { read: async () => written.splice(0) } },
  );
  return {
    followed,
    told,
    heard: () => heard,
    write: (type: string, payload: JsonObject) => void written.push({ type, payload }),
    hear: (method: string, params: JsonObject = {}) => followed.hear(method, { threadId: 'own', ...params }),
    /** A lap from its beginning to its end. */
    async lap(id: string, status = 'completed') {
      await followed.hear('turn/started', { threadId: 'own', turn: { id } });
      written.push({ type: 'event_msg', payload: { type: 'task_complete', turn_id: id } });
      await followed.hear('turn/completed', { threadId: 'own', turn: { id, status } });
    },
  };
}

test('what codex writes and what it says come in the order in which they were', async () => {
  const { told, hear, write, lap, followed } = follow();
  await hear('item/agentMessage/delta', { delta: 'Hel' });
  await hear('item/agentMessage/delta', { delta: 'lo.' });
  await hear('item/started', { item: { type: 'commandExecution', id: 'a', command: 'ls' } });
  write('response_item', { type: 'function_call' });
  write('turn_context', {});
  await hear('item/completed', { item: { type: 'commandExecution', id: 'a', command: 'ls', exitCode: 0 } });
  await hear('error', { willRetry: true, error: { message: 'Reconnecting... 1/3' } });
  await hear('item/agentMessage/delta', { delta: 'Done.' });
  write('event_msg', { type: 'agent_message' });
  await hear('item/completed', { item: { type: 'agentMessage', id: 'b', text: 'Done.' } });
  await lap('one');
  expect(told).toEqual([
    'text Hello.',
    'tool',
    'tool_result',
    'response_item function_call',
    'retry',
    'text Done.',
    'event_msg agent_message',
    'event_msg task_complete',
  ]);
  expect(await followed.done).toMatchObject({ id: 'one', status: 'completed' });
});

test.each(['constructor', '__proto__', 'later/news'])('of %s nothing is made', async (method) => {
  const { told, hear, lap, followed } = follow();
  await hear(method);
  await lap('one');
  expect(await followed.done).toMatchObject({ id: 'one' });
  expect(told).toEqual(['event_msg task_complete']);
});

test('what helpers say is not shown, but that there are some is known', async () => {
  const { told, hear, followed } = follow();
  await hear('item/agentMessage/delta', { delta: 'x' });
  expect(followed.hasHelpers()).toBe(false);
  await hear('item/started', { threadId: 'other', item: { type: 'webSearch', id: 'a' } });
  expect(followed.hasHelpers()).toBe(true);
  expect(told).toEqual([]);
});

describe('a goal', () => {
  const active = { goal: { objective: 'x', status: 'active' } };

  test('makes codex go on until it is reached', async () => {
    const { followed, hear, lap } = follow();
    await hear('thread/goal/updated', active);
    await lap('one');
    await lap('two');
    await hear('thread/goal/updated', { goal: { objective: 'x', status: 'complete' } });
    await lap('three');
    expect(await followed.done).toMatchObject({ id: 'three' });
    expect(followed.hasGoal()).toBe(false);
  });

  test.each([
    ['a lap fails', {}, 'failed'],
    ['codex only plans', { planMode: true }, 'completed'],
  ])('does not keep codex when %s', async (_case, request, status) => {
    const { followed, hear, lap } = follow(request);
    await hear('thread/goal/updated', active);
    await lap('one', status);
    expect(await followed.done).toMatchObject({ id: 'one', status });
  });

  test('is given up when no lap follows', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { followed, hear, lap } = follow();
    await hear('thread/goal/updated', active);
    await lap('one');
    vi.advanceTimersByTime(10_000);
    expect(await followed.done).toMatchObject({ id: 'one' });
    expect(followed.hasGoal()).toBe(true);
  });

  test('is shown when its state changes, not when its numbers do', async () => {
    const { told, hear } = follow();
    await hear('thread/goal/updated', active);
    await hear('thread/goal/updated', { goal: { ...active.goal, tokensUsed: 5 } });
    await hear('thread/goal/updated', { goal: { ...active.goal, status: 'blocked' } });
    expect(told).toEqual(['goal active', 'goal blocked']);
  });
});

test('a report that cannot be made ends the work', async () => {
  const followed = followCodex(
    {
      request: turnRequest({ message: 'x' }),
      message: async () => {},
      delta: () => Promise.reject(new Error('the disk is full')),
      heard: () => {},
    },
    { threadId: 'own', rollout: { read: async () => [] } },
  );
  await followed.hear('item/started', { threadId: 'own', item: { type: 'webSearch', id: 'a' } });
  await expect(followed.done).rejects.toThrow('the disk is full');
});

test('what a command writes, or a helper says, is a sign of life', async () => {
  const { told, hear, heard } = follow();
  await hear('item/commandExecution/outputDelta', { itemId: 'a', delta: 'compiling' });
  await hear('item/agentMessage/delta', { threadId: 'helper', delta: 'Hm.' });
  expect(heard()).toBe(2);
  await hear('account/rateLimits/updated', { threadId: undefined });
  expect(heard()).toBe(2);
  expect(told).toEqual([]);
});
