import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { turnRequest } from '../../../../test/engine/turn-request.ts';
import type { OpencodeClient } from './opencode-client.ts';
import { createOpencodeEars } from './opencode-ear.ts';
import { USUAL_MODEL } from './opencode-model.ts';
import { usualRetryLimits } from './opencode-retry.ts';
import { workWithOpencode } from './opencode-turn.ts';

test('an interrupted message is not over before the request to stop it is', async () => {
  const told: string[] = [];
  const message = Promise.withResolvers<unknown>();
  const stop = Promise.withResolvers<unknown>();
  const asked = Promise.withResolvers<void>();
  const client: OpencodeClient = {
    async ask({ path }) {
      asked.resolve();
      const answer = await (path.endsWith('/abort') ? stop : message).promise;
      told.push(path);
      return answer;
    },
    async *events(signal) {
      yield { type: 'server.connected' };
      yield { type: 'session.idle', properties: { sessionID: 'own' } };
      await once(signal, 'abort');
    },
  };
  const interruption = new AbortController();
  const work = workWithOpencode(
    {
      request: turnRequest({ message: 'x' }),
      signal: interruption.signal,
      message: async (type) => void told.push(type),
      delta: async () => {},
      heard: () => {},
    },
    {
      id: 'own',
      client,
      ears: createOpencodeEars(client),
      server: { ended: new Promise(() => {}), close: async () => void told.push('closed') },
      models: { known: new Map([[USUAL_MODEL, []]]), other: new Map() },
      commands: [],
      retryLimits: usualRetryLimits,
    },
  );
  const ended = work.then(() => void told.push('ended'));
  await asked.promise;
  interruption.abort();
  message.resolve({ info: { role: 'assistant' }, parts: [] });
  // Whatever could go on by itself has done so.
  for (let rounds = 0; rounds < 10; rounds += 1) await setImmediate();
  expect(told).toEqual(['/session/own/message']);
  stop.resolve(true);
  await ended;
  expect(told).toEqual(['/session/own/message', '/session/own/abort', 'opencode-assistant', 'ended']);
});

test.each([
  ['without the server', Promise.withResolvers<void>().promise, /does not say any more what it does/],
  ['with the server', Promise.resolve(), /process ended/],
])('events that end too early, %s, end the turn', async (_name, ended, sentence) => {
  const message = Promise.withResolvers<unknown>();
  const client: OpencodeClient = {
    async ask({ path }) {
      if (path.endsWith('/message')) return message.promise;
      message.resolve({ info: { role: 'assistant' }, parts: [] });
      return true;
    },
    async *events() {
      yield { type: 'server.connected' };
      yield { type: 'session.idle', properties: { sessionID: 'own' } };
    },
  };
  const work = workWithOpencode(
    {
      request: turnRequest({ message: 'x' }),
      signal: new AbortController().signal,
      message: async () => {},
      delta: async () => {},
      heard: () => {},
    },
    {
      id: 'own',
      client,
      ears: createOpencodeEars(client),
      server: { ended, close: async () => {} },
      models: { known: new Map([[USUAL_MODEL, []]]), other: new Map() },
      commands: [],
      retryLimits: usualRetryLimits,
    },
  );
  await expect(work).rejects.toMatchObject({
    kind: 'agent_died',
    message: expect.stringMatching(sentence) as unknown,
  });
});
