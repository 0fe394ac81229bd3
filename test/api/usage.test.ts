import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { createUsageService } from '../../src/usage/service.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_RUNTIME: 'fake', REPLICA_WARM_POOL_SIZE: '0' } });
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world?.close());

const usage = createUsageService({ newId });

/** A replica that was awake in these stretches; the last one goes on when it has no end. */
async function replica(
  { size = 'small', source = 'api', of = org }: { size?: string | null; source?: string; of?: Organization },
  ...stretches: [string, string?][]
) {
  const id = await insertReplica(world.db, { organizationId: of.id, state: 'active' });
  const row = { id, organization_id: of.id, source, size };
  for (const [from, to] of stretches) {
    await usage.open(world.db, row, new Date(from));
    if (to) await usage.close(world.db, row, new Date(to));
  }
  return id;
}

/** Nobody has asked a model for anything here. */
const models = {
  requests: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  cost_usd: 0,
  has_unpriced: false,
  is_offline: false,
};
const july = 'start=2026-07-01&end=2026-08-01';
const read = (query: string) => org.call('GET', `/v1/usage?${query}`);

describe('usage', () => {
  test('counts begun minutes at the rate of the size, by day, replica and source', async () => {
    const small = await replica(
      {},
      ['2026-07-01T10:00:00Z', '2026-07-01T10:00:01Z'],
      ['2026-07-02T23:30:00Z', '2026-07-03T00:30:00Z'],
    );
    const large = await replica({ size: 'large', source: 'slack' }, [
      '2026-07-03T00:00:00Z',
      '2026-07-03T00:10:00Z',
    ]);
    const unnamed = await replica({ size: null }, ['2026-07-31T23:59:00Z', '2026-08-01T00:05:00Z']);
    const total = { minutes: 72, amount: 0.6646, models };
    expect((await read(july)).body).toEqual({
      start: '2026-07-01T00:00:00.000Z',
      end: '2026-08-01T00:00:00.000Z',
      group_by: 'day',
      total,
      groups: [
        { key: '2026-07-01', minutes: 1, amount: 0.008 },
        { key: '2026-07-02', minutes: 30, amount: 0.24 },
        { key: '2026-07-03', minutes: 40, amount: 0.4 },
        { key: '2026-07-31', minutes: 1, amount: 0.0166 },
      ],
    });
    expect((await read(`${july}&group_by=replica`)).body).toMatchObject({
      total,
      groups: [
        { key: small, minutes: 61, amount: 0.488 },
        { key: large, minutes: 10, amount: 0.16 },
        { key: unnamed, minutes: 1, amount: 0.0166 },
      ],
    });
    expect((await read(`${july}&group_by=source`)).body).toMatchObject({
      total,
      groups: [
        { key: 'api', minutes: 62, amount: 0.5046 },
        { key: 'slack', minutes: 10, amount: 0.16 },
      ],
    });
    expect((await read('start=2026-08-01&end=2026-09-01')).body.total).toEqual({
      minutes: 5,
      amount: 0.083,
      models,
    });
    expect((await read('start=2026-07-01&end=2026-09-01')).body.total).toEqual({
      minutes: 77,
      amount: 0.7476,
      models,
    });
  });

  test('counts a stretch that goes on up to now, in the last 30 days when nothing else is asked for', async () => {
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000 + 1_000).toISOString();
    await replica({}, [minutesAgo(10)]);
    await replica({}, [minutesAgo(40 * 24 * 60), minutesAgo(35 * 24 * 60)]);
    const { body } = await read('');
    expect(body.total).toEqual({ minutes: 10, amount: 0.08, models });
    expect(Date.parse(body.end) - Date.parse(body.start)).toBe(30 * 86_400_000);
  });

  test('is of nobody else, and still there when the replica is deleted', async () => {
    const other = await world.org();
    await replica({ of: other }, ['2026-07-01T10:00:00Z', '2026-07-01T11:00:00Z']);
    const id = await replica({}, ['2026-07-01T10:00:00Z', '2026-07-01T10:02:00Z']);
    await org.call('DELETE', `/v1/replica/${id}`);
    const { body } = await read(`${july}&group_by=replica`);
    expect(body.groups).toEqual([{ key: id, minutes: 2, amount: 0.016 }]);
    expect((await read('start=2026-01-01&end=2026-02-01')).body).toMatchObject({
      total: { minutes: 0, amount: 0 },
      groups: [],
    });
  });

  test('adds up exactly, over more stretches than are read at once', async () => {
    const id = await replica({ size: null });
    await world.pool.query(
      `insert into awake_stretch (id, organization_id, replica_id, source, rate_micros, started_at, ended_at)
       select gen_random_uuid(), $1, $2, 'api', 16600, at, at + interval '1 second'
         from generate_series(1, 5000) as n, lateral (select timestamptz '2026-07-01Z' + (n / 3) * interval '1 minute' as at) as moment`,
      [org.id, id],
    );
    const { body } = await read(`${july}&group_by=replica`);
    expect(body.total).toEqual({ minutes: 5_000, amount: 83, models });
  });

  test.each([
    'group_by=month',
    'start=yesterday',
    'start=2026-07-01T00:00:00',
    'start=2026-02-30',
    'start=2026-07-02&end=2026-07-01',
    'start=2020-01-01',
    'start=2026-07-01&start=2026-07-02',
  ])('refuses %s', async (query) => {
    const { status, headers } = await read(query);
    expect([status, headers.get('x-service-error-code')]).toEqual([400, 'invalid_request']);
  });
});
