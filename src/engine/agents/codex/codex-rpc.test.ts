import { expect, test } from 'vitest';
import type { JsonObject } from '../agent.ts';
import { createCodexRpc } from './codex-rpc.ts';

function connect(answer: (message: JsonObject) => JsonObject | null) {
  const sent: JsonObject[] = [];
  const ended = Promise.withResolvers<void>();
  const rpc = createCodexRpc({
    send(message) {
      sent.push(message);
      const said = answer(message);
      if (said !== null) rpc.hear(said);
    },
    ended: ended.promise,
    lastWords: () => 'panicked',
  });
  return { rpc, sent, end: ended.resolve };
}

test('an answer belongs to what was asked', async () => {
  const { rpc, sent } = connect(({ id, method }) => ({ id, result: { said: method } }));
  const answers = await Promise.all([rpc.ask('a', { x: 1 }), rpc.ask('b', {})]);
  expect(answers).toEqual([{ said: 'a' }, { said: 'b' }]);
  expect(sent).toEqual([
    { id: 1, method: 'a', params: { x: 1 } },
    { id: 2, method: 'b', params: {} },
  ]);
});

test('a refusal comes with what codex says', async () => {
  const { rpc } = connect(({ id }) => ({ id, error: { code: -32600, message: 'no rollout found' } }));
  await expect(rpc.ask('thread/resume', {})).rejects.toMatchObject({
    kind: 'agent_failed',
    message: 'Codex did not do what it was asked for (thread/resume). It says: no rollout found',
  });
});

test.each(['ended', 'late'])('nothing is waited for without end: %s', async (cause) => {
  const { rpc, end } = connect(() => null);
  const asked = rpc.ask('turn/start', {}, cause === 'late' ? 1 : undefined);
  if (cause === 'ended') end();
  await expect(asked).rejects.toMatchObject({
    kind: 'agent_died',
    message: expect.stringMatching(/panicked$/),
  });
});

test('what codex asks is answered, also when it is not known', () => {
  const { rpc, sent } = connect(() => null);
  rpc.answer('7', { decision: 'decline' });
  rpc.answer(8, null);
  expect(sent).toEqual([
    { id: '7', result: { decision: 'decline' } },
    { id: 8, error: { code: -32601, message: 'not known here' } },
  ]);
});
