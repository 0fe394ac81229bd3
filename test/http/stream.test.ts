import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../src/contract/error.ts';
import type { Frame } from '../world/event-stream.ts';
import { until } from '../world/world.ts';
import { aborted, type ScriptedStreams, silent, startScriptedStreams } from './scripted-streams.ts';

let road: ScriptedStreams;
beforeAll(async () => {
  road = await startScriptedStreams({ openWithinMs: 50, pingEveryMs: 30 });
});
afterAll(() => road.close());

describe('a stream', () => {
  test('sends its frames in order and says in its headers that nobody may hold them back', async () => {
    road.scripts.short = async function* () {
      yield { id: '1', event: 'tick', data: { n: 1 } };
      yield { comment: 'nothing\nnew' };
      yield { data: { n: 2, text: 'line\nbreak' } };
    };
    const stream = await road.stream('GET', '/v1/watch/short');
    expect(await all(stream)).toEqual([
      { id: '1', event: 'tick', data: { n: 1 } },
      { comment: 'nothing new' },
      { id: null, event: 'message', data: { n: 2, text: 'line\nbreak' } },
    ]);
    expect(Object.fromEntries(stream.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.stringMatching(/./),
      'ratelimit-remaining': expect.stringMatching(/^\d+$/),
    });
    expect(stream.headers.has('content-encoding')).toBe(false);
    expect(road.fates.short).toBe('through');
  });

  test('may be empty', async () => {
    road.scripts.empty = async function* () {};
    expect(await all(await road.stream('GET', '/v1/watch/empty'))).toEqual([]);
  });

  test('that has nothing to say yet is open all the same, and is kept so by comments', async () => {
    road.scripts.silent = silent;
    await using stream = await road.stream('GET', '/v1/watch/silent');
    const comments: unknown[] = [];
    for await (const frame of stream) {
      comments.push(frame);
      if (comments.length === 3) break;
    }
    expect(comments).toEqual([{ comment: 'open' }, { comment: 'ping' }, { comment: 'ping' }]);
  });

  test('carries frames of megabytes whole, with no comment in their middle', async () => {
    const text = 'é🙂"\n'.repeat(300_000);
    road.scripts.large = async function* () {
      for (let n = 0; n < 2; n++) yield { data: { n, text } };
    };
    const frames = await all(await road.stream('GET', '/v1/watch/large'));
    const events = frames.filter((frame) => 'data' in frame);
    expect(events.map(({ data }) => data.n)).toEqual([0, 1]);
    expect(events.every(({ data }) => data.text === text)).toBe(true);
  });

  test('takes one request of what its caller may make, however much it sends', async () => {
    road.scripts.chatty = async function* () {
      for (let n = 0; n < 50; n++) yield { data: { n } };
    };
    const remaining = async () => {
      const stream = await road.stream('GET', '/v1/watch/chatty');
      await all(stream);
      return Number(stream.headers.get('ratelimit-remaining'));
    };
    expect((await remaining()) - (await remaining())).toBe(1);
  });

  test('holds no database connection while it waits', async () => {
    road.scripts.waiting = async function* ({ signal }) {
      yield { comment: 'open' };
      await aborted(signal);
    };
    const streams = await Promise.all(
      Array.from({ length: 20 }, () => road.stream('GET', '/v1/watch/waiting')),
    );
    const { pool } = road.database;
    expect([pool.totalCount - pool.idleCount, pool.waitingCount]).toEqual([0, 0]);
    await Promise.all(streams.map((stream) => stream.close()));
  });

  test('is not begun by HEAD, which is answered like every other one', async () => {
    const head = (name: string) =>
      fetch(`${road.url}/v1/watch/${name}`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${road.token}` },
      });
    road.scripts.headed = async function* () {
      yield { data: { n: 1 } };
    };
    const answer = await head('headed');
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      '',
    ]);
    expect((await head('nothing')).status).toBe(404);
    expect(road.fates.headed).toBeUndefined();
  });
});

describe('what goes wrong', () => {
  test.each<[when: string, path: string, outcome: unknown[]]>([
    ['in the request', '/v1/watch/nothing?from=x', [400, 'invalid_request']],
    ['in the handler', '/v1/watch/nothing', [404, 'not_found']],
    ['before the first frame', '/v1/watch/early', [503, 'unavailable']],
  ])('%s is an ordinary error answer', async (_, path, outcome) => {
    // biome-ignore lint/correctness/useYield: it fails before it comes to that.
    road.scripts.early = async function* () {
      throw new AppError('unavailable', 'Not today.');
    };
    const answer = await road.call('GET', path);
    expect([answer.status, answer.headers.get('x-service-error-code')]).toEqual(outcome);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  test('after the first frame is the last event, and is logged with the request', async () => {
    road.scripts.late = async function* () {
      yield { data: { n: 1 } };
      throw new Error('secret of ours');
    };
    const frames = await all(await road.stream('GET', '/v1/watch/late'));
    expect(frames.slice(1)).toEqual([
      {
        id: null,
        event: 'error',
        data: { code: 'internal_error', message: expect.stringMatching(/^Something went wrong/) },
      },
    ]);
    const line = await until(() => road.lines.find(({ ending }) => ending === 'failed'));
    expect(line).toMatchObject({ operation: 'watch', status: 200, frames: 1, code: 'internal_error' });
    expect(road.lines.find(({ msg }) => msg === 'stream.failed')).toMatchObject({
      reqId: line?.reqId,
      err: { message: 'secret of ours' },
    });
  });

  test('with the contract itself is seen by whoever holds answers against it', async () => {
    road.scripts.other = async function* () {
      yield { data: { n: 1 } };
      yield { data: { n: 1.5 } };
    };
    expect((await all(await road.stream('GET', '/v1/watch/other'))).slice(1)).toMatchObject([
      { event: 'error', data: { code: 'internal_error' } },
    ]);
  });
});

describe('a POST that streams', () => {
  const trial = (name: string, count: number, headers = {}) =>
    road.call('POST', `/v1/trials/${name}`, { count }, headers);

  test('has committed what it did before the first frame', async () => {
    const stream = await road.stream('POST', '/v1/trials/committed', { body: { count: 2 } });
    expect((await all(stream)).map((frame) => 'data' in frame && frame.data)).toEqual([
      { n: 1, text: 'committed' },
      { n: 2, text: 'committed' },
    ]);
  });

  test('has done nothing when it is refused', async () => {
    const before = await road.database.pool.query('select name from organization');
    expect((await trial('refused', 10)).status).toBe(400);
    expect((await trial('refused', 0)).status).toBe(400);
    const after = await road.database.pool.query('select name from organization');
    expect(after.rows).toEqual(before.rows);
  });

  test('takes no Idempotency-Key', async () => {
    const answer = await trial('repeated', 1, { 'idempotency-key': 'again' });
    expect([answer.status, answer.body.error]).toEqual([
      400,
      'A stream cannot be sent again as it was: leave out the Idempotency-Key.',
    ]);
  });
});

/** The frames of a stream that ends by itself. */
async function all(stream: AsyncIterable<Frame>): Promise<Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of stream) if (!isPing(frame)) frames.push(frame);
  return frames;
}

function isPing(frame: Frame): boolean {
  return 'comment' in frame && frame.comment === 'ping';
}
