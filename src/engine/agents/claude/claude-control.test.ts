import { expect, test } from 'vitest';
import type { JsonObject } from '../agent.ts';
import { createClaudeControl } from './claude-control.ts';

function open({ ended = new Promise<void>(() => {}), lastWords = '' } = {}) {
  const sent: JsonObject[] = [];
  const control = createClaudeControl({
    send: (message) => void sent.push(message),
    ended,
    lastWords: () => lastWords,
  });
  const answer = (at: number, response: JsonObject) =>
    control.hear({ type: 'control_response', response: { request_id: sent[at]?.request_id, ...response } });
  return { control, sent, answer };
}

test('answers find their questions in any order', async () => {
  const { control, answer } = open();
  const asked = [control.ask({ subtype: 'a' }), control.ask({ subtype: 'b' })];
  answer(1, { subtype: 'success', response: { said: 'b' } });
  answer(0, { subtype: 'success', response: { said: 'a' } });
  answer(0, { subtype: 'success', response: { said: 'again' } });
  expect(await Promise.all(asked)).toEqual([{ said: 'a' }, { said: 'b' }]);
});

test('a refusal is told in the words of claude', async () => {
  const { control, answer } = open();
  const asked = control.ask({ subtype: 'set_model' });
  answer(0, { subtype: 'error', error: 'There is no such model.' });
  await expect(asked).rejects.toMatchObject({
    kind: 'agent_failed',
    message: 'Claude did not do what it was asked for (set_model). It says: There is no such model.',
  });
});

test('a process that ends answers nothing, and its last words are the reason', async () => {
  const { control } = open({ ended: Promise.resolve(), lastWords: 'out of memory' });
  await expect(control.ask({ subtype: 'initialize' })).rejects.toMatchObject({
    kind: 'agent_died',
    message: expect.stringMatching(/out of memory$/),
  });
});

test('an answer is waited for only so long', async () => {
  const { control } = open();
  await expect(control.ask({ subtype: 'initialize' }, 1)).rejects.toMatchObject({ kind: 'agent_died' });
});
