import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { turnRequest } from '../../../../test/engine/turn-request.ts';
import type { JsonObject } from '../agent.ts';
import type { OpencodeClient } from './opencode-client.ts';
import { createOpencodeEar } from './opencode-ear.ts';
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
      ear: createOpencodeEar(client),
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
      ear: createOpencodeEar(client),
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

describe('what is said of a message', () => {
  /** A server that answers at once, says of each message what the test wants, and goes on saying it to whoever listens. */
  function startServer(saidOf: (message: number) => JsonObject[]) {
    const streams: PassThrough[] = [];
    let messages = 0;
    const say = (events: readonly JsonObject[]) => {
      for (const stream of streams) for (const event of events) stream.write(event);
    };
    const client: OpencodeClient = {
      async ask({ path }) {
        if (!path.endsWith('/message')) return true;
        messages += 1;
        say(saidOf(messages));
        return { info: { id: `m${messages}`, role: 'assistant' }, parts: [] };
      },
      async *events(signal) {
        const stream = new PassThrough({ objectMode: true });
        streams.push(stream);
        signal.addEventListener('abort', () => stream.destroy());
        yield { type: 'server.connected' };
        yield* stream;
      },
    };
    return { client, streams, say };
  }

  const own = { sessionID: 'own' };
  const isIdle = { type: 'session.idle', properties: own };
  const begins = (message: number) => ({
    type: 'message.updated',
    properties: { ...own, info: { id: `m${message}`, role: 'assistant' } },
  });

  function converse(client: OpencodeClient) {
    const conversation = {
      id: 'own',
      client,
      ear: createOpencodeEar(client),
      server: { ended: new Promise<void>(() => {}), close: async () => {} },
      models: { known: new Map([[USUAL_MODEL, []]]), other: new Map() },
      commands: [],
      retryLimits: usualRetryLimits,
    };
    return async (signal = new AbortController().signal) => {
      const told: unknown[] = [];
      await workWithOpencode(
        {
          request: turnRequest({ message: 'x' }),
          signal,
          message: async (_type, { info }) => void told.push((info as JsonObject).id),
          delta: async () => {},
          heard: () => {},
        },
        conversation,
      );
      return told;
    };
  }

  test('is heard over one stream for all messages that end well', async () => {
    const { client, streams } = startServer((message) => [begins(message), isIdle]);
    const work = converse(client);
    expect([await work(), await work(), await work()]).toEqual([['m1'], ['m2'], ['m3']]);
    expect(streams).toHaveLength(1);
  });

  test('is not heard by the next one when it comes after the end', { timeout: 20_000 }, async () => {
    const { client, streams, say } = startServer((message) =>
      message === 1 ? [] : [begins(message), isIdle],
    );
    const work = converse(client);
    // Its last words are waited for a while.
    expect(await work()).toEqual(['m1']);
    say([begins(1), isIdle]);
    expect(await work()).toEqual(['m2']);
    expect(streams).toHaveLength(2);
  });

  test('is not heard by the next one when it was interrupted', async () => {
    const { client, streams, say } = startServer((message) => [begins(message), isIdle]);
    const interruption = new AbortController();
    const stopped = once(interruption.signal, 'abort');
    let isFirst = true;
    const work = converse({
      ...client,
      async ask(asked) {
        if (!isFirst || !asked.path.endsWith('/message')) return client.ask(asked);
        isFirst = false;
        setImmediate().then(() => interruption.abort());
        await stopped;
        return client.ask(asked);
      },
    });
    await work(interruption.signal);
    say([begins(1), isIdle]);
    expect(await work()).toEqual(['m2']);
    expect(streams).toHaveLength(2);
  });
});
