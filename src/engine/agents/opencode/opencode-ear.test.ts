import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { JsonObject } from '../agent.ts';
import { createOpencodeEars } from './opencode-ear.ts';

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
  const ears = createOpencodeEars({ events });
  ears.prepare();
  await rounds();
  opened[0]?.say({ type: 'session.idle' });
  await rounds();
  const heard = ears.events(new AbortController().signal);
  expect((await heard.next()).value).toEqual({ type: 'server.connected' });
  opened[0]?.say({ type: 'message.updated' });
  expect((await heard.next()).value).toEqual({ type: 'message.updated' });
  await heard.return(undefined);
  expect(opened).toHaveLength(1);
  expect(opened[0]?.signal.aborted).toBe(true);
});

test('a stream that has ended meanwhile is opened anew', async () => {
  const { opened, events } = streams();
  const ears = createOpencodeEars({ events });
  ears.prepare();
  await rounds();
  opened[0]?.end();
  await rounds();
  const heard = ears.events(new AbortController().signal);
  expect((await heard.next()).value).toEqual({ type: 'server.connected' });
  expect(opened).toHaveLength(2);
  await heard.return(undefined);
});

test('what goes wrong while it is listened to is told, and the signal ends it', async () => {
  const { opened, events } = streams();
  const ears = createOpencodeEars({ events });
  const broken = ears.events(new AbortController().signal);
  await broken.next();
  opened[0]?.end(new Error('broken'));
  await expect(broken.next()).rejects.toThrow('broken');
  const stop = new AbortController();
  const stopped = ears.events(stop.signal);
  await stopped.next();
  stop.abort(new Error('enough'));
  await expect(stopped.next()).rejects.toThrow();
  expect(opened[1]?.signal.aborted).toBe(true);
});

test('each message has a stream of its own, and closing ends the one that waits', async () => {
  const { opened, events } = streams();
  const ears = createOpencodeEars({ events });
  ears.prepare();
  ears.prepare();
  await rounds();
  expect(opened.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  ears.close();
  expect(opened[1]?.signal.aborted).toBe(true);
});
