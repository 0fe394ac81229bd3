import { once } from 'node:events';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openSocket } from '../contract/raw-http.ts';
import { until } from '../world/world.ts';
import { aborted, forever, type ScriptedStreams, silent, startScriptedStreams } from './scripted-streams.ts';

let road: ScriptedStreams;
beforeAll(async () => {
  road = await startScriptedStreams({ takeWithinMs: 1_000 });
});
beforeEach(() => {
  road.lines.length = 0;
});
afterAll(() => road.close());

const lineOf = (name: string) => until(() => road.lines.find(({ ending }) => ending === name));

describe('a caller who leaves', () => {
  test('ends the stream, whose producer lets go of what it holds', async () => {
    road.scripts.left = async function* ({ signal }) {
      yield { data: { n: 1 } };
      await aborted(signal);
    };
    const stream = await road.stream('GET', '/v1/watch/left');
    await stream.event();
    await stream.close();
    await until(() => road.fates.left === 'The caller is gone.');
    expect(await lineOf('gone')).toMatchObject({
      msg: 'request',
      operation: 'watch',
      status: 200,
      frames: 1,
    });
  });

  test('ends it also while frames are on their way', async () => {
    road.scripts.busy = async function* () {
      for (let n = 0; ; n++) yield { data: { n, text: 'x'.repeat(10_000) } };
    };
    const stream = await road.stream('GET', '/v1/watch/busy');
    await stream.event();
    await stream.close();
    await until(() => road.fates.busy === 'The caller is gone.');
  });

  test('before the first frame leaves nothing behind', async () => {
    road.scripts.early = silent;
    const socket = await openSocket(road.url);
    socket.write(requestOf('early'));
    await until(() => road.fates.early === 'running');
    socket.destroy();
    await until(() => road.fates.early === 'The caller is gone.');
    await lineOf('gone');
  });
});

describe('a caller who does not read', () => {
  test('is waited for, with little in memory, and then cut', async () => {
    let produced = 0;
    road.scripts.endless = async function* () {
      for (; ; produced++) yield { data: { n: produced, text: 'x'.repeat(100_000) } };
    };
    const socket = await openSocket(road.url);
    socket.write(requestOf('endless'));
    await until(() => road.fates.endless === 'The caller reads too slowly.');
    const producedWhenCut = produced;
    socket.resume();
    await once(socket, 'close');
    expect(produced).toBe(producedWhenCut);
    // The rest is in the buffers of the two sockets, which belong to the operating system.
    expect(produced).toBeLessThan(200);
    expect(await lineOf('slow')).toMatchObject({ operation: 'watch' });
  });

  test('but takes its time is served on', async () => {
    road.scripts.patient = async function* () {
      for (let n = 0; n < 100; n++) yield { data: { n, text: 'x'.repeat(100_000) } };
    };
    const socket = await openSocket(road.url);
    socket.pause();
    socket.write(requestOf('patient'));
    let received = '';
    for (; !socket.readableEnded && !received.endsWith('0\r\n\r\n'); ) {
      // A little at a time, with a pause between that is shorter than the bound.
      await once(AbortSignal.timeout(5), 'abort');
      received += socket.read(200_000) ?? socket.read() ?? '';
    }
    socket.destroy();
    expect(received.match(/data: /g)).toHaveLength(100);
    expect(await lineOf('done')).toMatchObject({ frames: 100 });
  });
});

describe('a service that stops', () => {
  let road: ScriptedStreams;
  beforeEach(async () => {
    road = await startScriptedStreams();
  });
  afterEach(() => road.close());

  test('ends every stream at once, by breaking the connection', async () => {
    road.scripts.open = async function* ({ signal }) {
      yield { data: { n: 1 } };
      await aborted(signal);
    };
    const streams = await Promise.all(Array.from({ length: 20 }, () => road.stream('GET', '/v1/watch/open')));
    for (const stream of streams) await stream.event();
    const beganAt = performance.now();
    await road.app.close();
    expect(performance.now() - beganAt).toBeLessThan(10_000);
    expect(road.fates.open).toBe('The service is stopping; try again shortly.');
    for (const stream of streams) await expect(stream.next()).rejects.toThrow();
    expect(road.lines.filter(({ ending }) => ending === 'stopped')).toHaveLength(20);
  });

  test('does not wait for connections that nobody has used', async () => {
    const socket = await openSocket(road.url);
    await expect.poll(() => promisify(road.app.server.getConnections.bind(road.app.server))()).toBe(1);
    const closed = once(socket.resume(), 'close');
    const beganAt = performance.now();
    await road.app.close();
    await closed;
    expect(performance.now() - beganAt).toBeLessThan(10_000);
  });

  test('does not wait for a producer that never looks up', async () => {
    road.scripts.stubborn = async function* () {
      yield { data: { n: 1 } };
      await forever();
    };
    const stream = await road.stream('GET', '/v1/watch/stubborn');
    await stream.event();
    const beganAt = performance.now();
    await road.app.close();
    expect(performance.now() - beganAt).toBeLessThan(10_000);
    await expect(stream.next()).rejects.toThrow();
  });

  test('refuses a stream that has not begun', async () => {
    road.scripts.begun = silent;
    const answer = road.call('GET', '/v1/watch/begun');
    await until(() => road.fates.begun === 'running', { intervalMs: 1 });
    await road.app.close();
    expect(await answer).toMatchObject({ status: 503, body: { error: expect.stringMatching(/stopping/) } });
  });
});

function requestOf(name: string): string {
  return `GET /v1/watch/${name} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${road.token}\r\n\r\n`;
}
