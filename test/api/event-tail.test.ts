import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { createFollowEvents, type EventNews } from '../../src/event/follow.ts';
import { createEventRing } from '../../src/event/ring.ts';
import type { StoredEvent } from '../../src/event/store.ts';
import { createEventTails } from '../../src/event/tail.ts';
import { trimEvents } from '../../src/event/trim.ts';
import { newId } from '../../src/lib/ids.ts';
import { replicaTopic } from '../../src/replica/service.ts';
import { createSignals, type Signals } from '../../src/work/signal.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { startDatabaseProxy } from '../contract/database-proxy.ts';
import { createDatabase } from '../world/database.ts';
import { until } from '../world/world.ts';
import { type EventWriter, numbered, openEventWriter } from './event-writer.ts';

const log = pino({ level: 'silent' });
const everything = new AsyncDisposableStack();
/** Connections of the process under test alone, so that its queries can be counted. */
let watched: Database;
let own: Database;
let signals: Signals;
let writer: EventWriter;
let organizationId: string;
let replicaId: string;

beforeAll(async () => {
  const { url, drop } = await createDatabase();
  everything.defer(drop);
  watched = openDatabase({ url, poolSize: 4, log });
  everything.defer(watched.close);
  own = openDatabase({ url, poolSize: 2, log });
  everything.defer(own.close);
  signals = createSignals({ url, log });
  await signals.start();
  everything.defer(signals.stop);
  writer = await openEventWriter({ db: own.db, databaseUrl: url });
  everything.defer(writer.close);
  organizationId = newId();
  await own.db
    .insertInto('organization')
    .values({ id: organizationId, name: 'Test', slug: organizationId })
    .execute();
});
beforeEach(async () => {
  replicaId = await insertReplica(own.db, { organizationId, state: 'active' });
});
afterAll(() => everything.disposeAsync());

/** Follows the replica and keeps what comes. */
function listen(follow: ReturnType<typeof createFollowEvents>, from: { after: number; last: number }) {
  const hangUp = new AbortController();
  const news: EventNews[] = [];
  const ended = (async () => {
    for await (const one of follow(watched.db, { replicaId, ...from }, hangUp.signal)) news.push(one);
  })();
  return {
    news,
    ended,
    stop: async () => {
      hangUp.abort();
      await ended;
    },
  };
}

async function countQueries(work: () => Promise<void>): Promise<number> {
  let queries = 0;
  const count = () => {
    queries += 1;
  };
  watched.pool.on('acquire', count);
  await work();
  watched.pool.off('acquire', count);
  return queries;
}

describe('the streams of one replica', () => {
  test('share one reader: a hundred of them ask the database no more than one does', async () => {
    const follow = createFollowEvents({ tails: createEventTails({ db: watched.db, signals, log }) });
    const streams = Array.from({ length: 100 }, () => listen(follow, { after: 0, last: 0 }));
    const queries = await countQueries(async () => {
      for (let n = 1; n <= 20; n += 1) {
        await writer.write(replicaId, numbered(n));
        await until(() => streams.every(({ news }) => news.length === n), { intervalMs: 2 });
      }
    });
    // One for each event, and a few for hints that came for nothing.
    expect(queries).toBeLessThan(60);
    await Promise.all(streams.map(({ stop }) => stop()));
  });

  test('end the reader when the last of them leaves', async () => {
    const follow = createFollowEvents({ tails: createEventTails({ db: watched.db, signals, log }) });
    const streams = [1, 2].map(() => listen(follow, { after: 0, last: 0 }));
    await writer.write(replicaId, numbered(1));
    await until(() => streams.every(({ news }) => news.length === 1));
    await Promise.all(streams.map(({ stop }) => stop()));
    const queries = await countQueries(async () => {
      const hint = signals.wait(replicaTopic(replicaId), AbortSignal.timeout(5_000), 5_000);
      await writer.write(replicaId, numbered(2));
      await hint;
      await own.pool.query('select 1');
    });
    expect(queries).toBe(0);
    const again = listen(follow, { after: 1, last: 1 });
    await until(() => again.news.length === 1);
    await again.stop();
  });

  test('go on when the database was away', async () => {
    const proxy = await startDatabaseProxy(watched.url);
    const behind = openDatabase({ url: proxy.url, poolSize: 1, log });
    const follow = createFollowEvents({ tails: createEventTails({ db: behind.db, signals, log }) });
    const stream = listen(follow, { after: 0, last: 0 });
    await writer.write(replicaId, numbered(1));
    await until(() => stream.news.length === 1);
    await proxy.cut();
    await writer.write(replicaId, numbered(2));
    await expect(behind.pool.query('select 1')).rejects.toThrow();
    await proxy.mend();
    await until(() => stream.news.length === 2);
    await stream.stop();
    await behind.close();
    await proxy.close();
  });

  test('are told of a gap when what they had yet to read is trimmed', async () => {
    const follow = createFollowEvents({ tails: createEventTails({ db: watched.db, signals, log }) });
    await writer.write(replicaId, ...[1, 2, 3, 4].map((n) => numbered(n)));
    await own.db
      .deleteFrom('replica_event')
      .where('replica_id', '=', replicaId)
      .where('seq', 'in', ['2', '3'])
      .execute();
    const stream = listen(follow, { after: 0, last: 4 });
    await until(() => stream.news.length === 3);
    expect(stream.news).toMatchObject([
      { kind: 'event', event: { seq: 1 } },
      { kind: 'gap', from: 1, to: 3 },
      { kind: 'event', event: { seq: 4 } },
    ]);
    await stream.stop();
    await own.db.deleteFrom('replica_event').where('replica_id', '=', replicaId).execute();
    const late = listen(follow, { after: 2, last: 4 });
    await until(() => late.news.length === 1);
    expect(late.news).toEqual([{ kind: 'gap', from: 2, to: 4 }]);
    await late.stop();
  });

  test('are not told of a gap when an event comes while they look', async () => {
    const ring = createEventRing<StoredEvent>({ last: 0, maxEvents: 10, maxBytes: () => 1_000 });
    const arrive = () => {
      if (ring.last() === 0)
        ring.add([{ seq: 1, at: new Date(), type: 'test.counted', payload: {}, bytes: 2 }]);
    };
    const tail = {
      last: ring.last,
      isGone: () => ring.last() === 1,
      after(seq: number) {
        queueMicrotask(arrive);
        return ring.after(seq);
      },
      changed: async () => arrive(),
      [Symbol.dispose]() {},
    };
    const stream = listen(createFollowEvents({ tails: { join: () => tail } }), { after: 0, last: 0 });
    await stream.ended;
    expect(stream.news).toMatchObject([{ kind: 'event', event: { seq: 1 } }]);
  });

  test('end with their replica, also when its last event was removed before they could read it', async () => {
    const follow = createFollowEvents({ tails: createEventTails({ db: watched.db, signals, log }) });
    await own.db.updateTable('replica').set({ state: 'deleted' }).where('id', '=', replicaId).execute();
    const stream = listen(follow, { after: 2, last: 4 });
    await stream.ended;
    expect(stream.news.filter(({ kind }) => kind === 'event')).toEqual([]);
  });
});

describe('trimming', () => {
  const day = 86_400_000;
  const now = new Date();
  const kept = async (id = replicaId) => {
    const { rows } = await own.pool.query(
      'select min(seq)::int as first, max(seq)::int as last, count(*)::int as count from replica_event where replica_id = $1',
      [id],
    );
    return rows[0];
  };

  /** Writes so many events, of which those before `youngFrom` are as old as is said. */
  async function fill(
    id: string,
    { count, oldDays, youngFrom }: { count: number; oldDays: number; youngFrom: number },
  ) {
    await own.pool.query(
      `insert into replica_event (replica_id, seq, at, type, payload)
       select $1, n, case when n < $3 then $4::timestamptz else $5::timestamptz end, 'test.counted', '{}'
         from generate_series(1, $2::int) as n`,
      [id, count, youngFrom, new Date(now.getTime() - oldDays * day), now],
    );
    await own.pool.query('update replica set event_seq = $2 where id = $1', [id, count]);
  }

  test.each([
    [
      'leaves what is young and not too much',
      { count: 5_000, oldDays: 6.9, youngFrom: 100 },
      { first: 1, last: 5_000, count: 5_000 },
    ],
    [
      'leaves the last 5,000',
      { count: 12_345, oldDays: 0, youngFrom: 1 },
      { first: 7_346, last: 12_345, count: 5_000 },
    ],
    [
      'leaves what is of the last 7 days',
      { count: 300, oldDays: 7.1, youngFrom: 201 },
      { first: 201, last: 300, count: 100 },
    ],
    [
      'leaves nothing that is old',
      { count: 300, oldDays: 8, youngFrom: 301 },
      { first: null, last: null, count: 0 },
    ],
  ])('%s', async (_what, events, expected) => {
    await fill(replicaId, events);
    await trimEvents(own.db, now, new AbortController().signal);
    expect(await kept()).toEqual(expected);
  });

  test('reaches every replica', async () => {
    const ids = await Promise.all(
      Array.from({ length: 12 }, () => insertReplica(own.db, { organizationId, state: 'sleeping' })),
    );
    for (const id of ids) await fill(id, { count: 3, oldDays: 8, youngFrom: 3 });
    await trimEvents(own.db, now, new AbortController().signal);
    for (const id of ids) expect(await kept(id)).toEqual({ first: 3, last: 3, count: 1 });
  });
});
