import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { JsonObject } from '../agent.ts';
import { createOpencodeEar } from './opencode-ear.ts';

/** Streams of events that the test fills. */
function streams() {
  const opened: { say(event: JsonObject): void; end(failure?: Error): void; signal: AbortSignal }[] = [];
  async function* events(signal: AbortSignal): AsyncGenerator<JsonObject> {
    const said: JsonObject[] = [];
    let ended: { failure: Error | undefined } | null = null;
    let news = Promise.withResolvers<void>();
    opened.push({
      say(event) {
        said.push(event);
        news.resolve();
      },
      end(failure) {
        ended = { failure };
        news.resolve();
      },
      signal,
    });
    const gone = once(signal, 'abort');
    yield { type: 'server.connected' };
    for (;;) {
      yield* said.splice(0);
      if (ended) break;
      await Promise.race([news.promise, gone]);
      if (signal.aborted) throw signal.reason;
      news = Promise.withResolvers();
    }
    const { failure } = ended as { failure: Error | undefined };
    if (failure) throw failure;
  }
  return { opened, events };
}

async function rounds(): Promise<void> {
  for (let round = 0; round < 10; round += 1) await setImmediate();
}

test('what is listened to ahead begins at once, without what came before', async () => {
  const { opened, events } = streams();
  const ear = createOpencodeEar({ events });
  ear.open();
  await rounds();
  opened[0]?.say({ type: 'session.idle' });
  await rounds();
  const heard = ear.events(new AbortController().signal);
  expect((await heard.next()).value).toEqual({ type: 'server.connected' });
  opened[0]?.say({ type: 'message.updated' });
  expect((await heard.next()).value).toEqual({ type: 'message.updated' });
  await heard.return(undefined);
});

test('one stream serves all messages, and what comes between them is dropped', async () => {
  const { opened, events } = streams();
  const ear = createOpencodeEar({ events });
  for (const id of ['one', 'two', 'three']) {
    const stop = new AbortController();
    const heard = ear.events(stop.signal);
    expect((await heard.next()).value).toEqual({ type: 'server.connected' });
    opened[0]?.say({ type: 'message.updated', id });
    expect((await heard.next()).value).toEqual({ type: 'message.updated', id });
    opened[0]?.say({ type: 'never heard', id });
    stop.abort();
    expect(await heard.next()).toEqual({ done: true, value: undefined });
    opened[0]?.say({ type: 'session.updated', id });
    await rounds();
  }
  expect(opened.map(({ signal }) => signal.aborted)).toEqual([false]);
});

test('a signal ends the hearing also while nothing is said', async () => {
  const { events } = streams();
  const ear = createOpencodeEar({ events });
  const stop = new AbortController();
  const heard = ear.events(stop.signal);
  await heard.next();
  const silent = heard.next();
  stop.abort();
  expect(await silent).toEqual({ done: true, value: undefined });
});

test('a stream that has ended meanwhile is opened anew', async () => {
  const { opened, events } = streams();
  const ear = createOpencodeEar({ events });
  ear.open();
  await rounds();
  opened[0]?.end();
  await rounds();
  const heard = ear.events(new AbortController().signal);
  expect((await heard.next()).value).toEqual({ type: 'server.connected' });
  expect(opened).toHaveLength(2);
  await heard.return(undefined);
});

test('what goes wrong while it is listened to is told, and the next message has another stream', async () => {
  const { opened, events } = streams();
  const ear = createOpencodeEar({ events });
  const broken = ear.events(new AbortController().signal);
  await broken.next();
  opened[0]?.end(new Error('broken'));
  await expect(broken.next()).rejects.toThrow('broken');
  const whole = ear.events(new AbortController().signal);
  expect((await whole.next()).value).toEqual({ type: 'server.connected' });
  expect(opened).toHaveLength(2);
});

test('closing ends the stream, and what is still said in it is not heard in the next one', async () => {
  const { opened, events } = streams();
  const ear = createOpencodeEar({ events });
  ear.open();
  await rounds();
  ear.close();
  expect(opened[0]?.signal.aborted).toBe(true);
  const heard = ear.events(new AbortController().signal);
  await heard.next();
  opened[0]?.say({ type: 'late' });
  opened[1]?.say({ type: 'message.updated' });
  expect((await heard.next()).value).toEqual({ type: 'message.updated' });
});
