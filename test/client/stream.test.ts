import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError, type ClientOf, createClientOf } from '../../src/client/client.ts';
import type { StreamEvent } from '../../src/client/stream.ts';
import { AppError } from '../../src/contract/error.ts';
import {
  aborted,
  type Script,
  type ScriptedStreams,
  startScriptedStreams,
  streamOperations,
} from '../http/scripted-streams.ts';
import { until } from '../world/world.ts';

let road: ScriptedStreams;
let client: ClientOf<typeof streamOperations>;
beforeAll(async () => {
  road = await startScriptedStreams();
  client = createClientOf(streamOperations, { baseUrl: road.url, token: road.token });
});
afterAll(() => road.close());

/** Numbers from the one after the last that was seen; after every `step` the connection breaks, once they were read. */
const breaking = (last: number, step: number, read: number[] = []): Script =>
  async function* ({ lastEventId, signal }) {
    for (let n = lastEventId + 1; n <= last; n++) {
      yield { id: String(n), event: 'tick', data: { n } };
      if (n % step > 0 || n === last) continue;
      await until(() => read.includes(n));
      road.app.server.closeAllConnections();
      await aborted(signal);
    }
  };

describe('a stream of the typed client', () => {
  test('gives typed events and ends with the stream', async () => {
    road.scripts.short = breaking(2, 100);
    const events: StreamEvent<{ n: number }>[] = [];
    for await (const event of client.stream('watch', { params: { name: 'short' } })) events.push(event);
    expect(events).toEqual([
      { id: '1', event: 'tick', data: { n: 1 } },
      { id: '2', event: 'tick', data: { n: 2 } },
    ]);
  });

  test('goes on after the last event when the connection breaks, and gives each event once', async () => {
    const read: number[] = [];
    road.scripts.breaking = breaking(7, 3, read);
    await numbers(client.stream('watch', { params: { name: 'breaking' } }), read);
    expect(read).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  test('begins after the event that is named', async () => {
    road.scripts.later = breaking(5, 100);
    const stream = client.stream('watch', { params: { name: 'later' } }, { lastEventId: '3' });
    expect(await numbers(stream)).toEqual([4, 5]);
  });

  test('comes back when the service was in trouble for a moment', async () => {
    let openings = 0;
    road.scripts.shaky = async function* ({ lastEventId }) {
      openings += 1;
      if (openings === 2) throw new AppError('unavailable', 'The database is away.');
      yield { id: String(lastEventId + 1), data: { n: lastEventId + 1 } };
      if (openings === 1) throw new AppError('unavailable', 'The database goes away.');
    };
    expect(await numbers(client.stream('watch', { params: { name: 'shaky' } }))).toEqual([1, 2]);
    expect(openings).toBe(3);
  });

  test('throws a refusal', async () => {
    const stream = client.stream('watch', { params: { name: 'nothing' } });
    await expect(stream.next()).rejects.toMatchObject({ status: 404, code: 'not_found' });
  });

  test('throws what the service says at the end of a stream that has failed for good', async () => {
    road.scripts.gone = async function* () {
      yield { id: '1', data: { n: 1 } };
      throw new AppError('not_found', 'The replica is gone.');
    };
    const stream = client.stream('watch', { params: { name: 'gone' } });
    await stream.next();
    const failed = stream.next();
    await expect(failed).rejects.toBeInstanceOf(ApiError);
    await expect(failed).rejects.toMatchObject({ status: 404, message: 'The replica is gone.' });
  });

  test('that has no ids is not begun anew', async () => {
    road.scripts.anonymous = async function* ({ signal }) {
      yield { data: { n: 1 } };
      await aborted(signal);
    };
    const stream = client.stream('watch', { params: { name: 'anonymous' } });
    await stream.next();
    road.app.server.closeAllConnections();
    await expect(stream.next()).rejects.toThrow(TypeError);
  });

  test('of a POST is read like any other', async () => {
    expect(await numbers(client.stream('trial', { params: { name: 'x' }, body: { count: 3 } }))).toEqual([
      1, 2, 3,
    ]);
  });

  test('hangs up when it is no longer read, and when it is aborted', async () => {
    road.scripts.long = async function* ({ signal }) {
      yield { data: { n: 1 } };
      await aborted(signal);
    };
    for await (const _ of client.stream('watch', { params: { name: 'long' } })) break;
    await expect.poll(() => road.fates.long).toBe('The caller is gone.');

    const leaving = new AbortController();
    const stream = client.stream('watch', { params: { name: 'long' } }, { signal: leaving.signal });
    await stream.next();
    const next = stream.next();
    leaving.abort(new Error('enough'));
    await expect(next).rejects.toThrow('enough');
    await expect.poll(() => road.fates.long).toBe('The caller is gone.');
  });
});

async function numbers(
  stream: AsyncIterable<StreamEvent<{ n: number }>>,
  found: number[] = [],
): Promise<number[]> {
  for await (const { data } of stream) found.push(data.n);
  return found;
}
