import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

const SIZE = 3;

let world: World;
let driver: FakeDriver;
beforeAll(async () => {
  world = await startWorld({
    environment: { REPLICA_WARM_POOL_SIZE: String(SIZE) },
    replaced: {
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return driver;
      },
    },
  });
});
afterAll(() => world.close());

async function makePool(): Promise<{ org: Organization; environmentId: string }> {
  const org = await world.org();
  const made = await org.call('POST', '/v1/environments', { name: 'pooled' });
  return { org, environmentId: made.body.environment.id };
}

async function poolOf({ org, environmentId }: { org: Organization; environmentId: string }) {
  return (await org.call('GET', `/v1/environments/${environmentId}/warm-hooks`)).body.warm_pool;
}

function workspaces(environmentId: string) {
  return world.db
    .selectFrom('warm_pool_workspace')
    .innerJoin('warm_pool', 'warm_pool.id', 'warm_pool_id')
    .selectAll('warm_pool_workspace')
    .where('environment_id', '=', environmentId)
    .execute();
}

async function create(org: Organization, environment_id: string, more: object = {}): Promise<string> {
  const made = await org.call('POST', '/v1/replica', { name: 'a', message: 'hi', environment_id, ...more });
  expect(made.body.replica?.status).toBe('active');
  return made.body.replica.id;
}

async function startOf(org: Organization, id: string) {
  return (await org.call('GET', `/v1/replica/${id}/timeline`)).body.start;
}

const untilReady = (pool: { org: Organization; environmentId: string }) =>
  until(async () => (await poolOf(pool)).ready_count === SIZE);

it('fills to its size with workspaces that share one snapshot', async () => {
  const pool = await makePool();
  await untilReady(pool);
  const rows = await workspaces(pool.environmentId);
  expect(new Set(rows.map(({ layer_id }) => layer_id)).size).toBe(1);
  expect(await poolOf(pool)).toMatchObject({ has_base_snapshot: true, warming_count: 0, stale_count: 0 });
});

it('gives each workspace to one replica when many ask at once, and the others start without', async () => {
  const pool = await makePool();
  await untilReady(pool);
  const ids = await Promise.all(Array.from({ length: 9 }, () => create(pool.org, pool.environmentId)));
  const rows = await world.db
    .selectFrom('replica')
    .select(['id', 'sandbox_id'])
    .where('id', 'in', ids)
    .execute();
  expect(new Set(rows.map(({ sandbox_id }) => sandbox_id)).size).toBe(9);
  const kinds = await Promise.all(ids.map(async (id) => (await startOf(pool.org, id)).kind));
  expect(kinds.filter((kind) => kind === 'warm').length).toBeGreaterThanOrEqual(SIZE);
  expect(kinds.every((kind) => kind === 'warm' || kind === 'layer')).toBe(true);
  const assigned = (await workspaces(pool.environmentId)).filter(({ status }) => status === 'assigned');
  expect(new Set(assigned.map(({ replica_id }) => replica_id)).size).toBe(assigned.length);
  expect(assigned.length).toBe(kinds.filter((kind) => kind === 'warm').length);
  await untilReady(pool);
});

it('says why a replica did not get a warm workspace', async () => {
  const pool = await makePool();
  await untilReady(pool);
  const large = await create(pool.org, pool.environmentId, { size: 'large' });
  expect(await startOf(pool.org, large)).toMatchObject({
    kind: 'cold',
    reason: expect.stringContaining('size'),
  });
  await pool.org.call('PUT', `/v1/environments/${pool.environmentId}/warm-pools`, { enabled: false });
  const off = await create(pool.org, pool.environmentId);
  expect(await startOf(pool.org, off)).toMatchObject({
    kind: 'cold',
    reason: expect.stringContaining('no warm pool'),
  });
  await until(async () => (await workspaces(pool.environmentId)).every(({ status }) => status !== 'ready'));
});

it('keeps what is old until there is better, and never hands it out then', async () => {
  const pool = await makePool();
  await untilReady(pool);
  driver.delayMs = 300;
  try {
    await pool.org.call('POST', `/v1/environments/${pool.environmentId}/variables`, { key: 'A', value: 'b' });
    expect(await poolOf(pool)).toMatchObject({ ready_count: 0, stale_count: SIZE, generation: 2 });
    const early = await create(pool.org, pool.environmentId);
    expect((await startOf(pool.org, early)).reason).toContain('older');
  } finally {
    driver.delayMs = 0;
  }
  await until(async () => (await poolOf(pool)).ready_count >= 1);
  const late = await create(pool.org, pool.environmentId);
  expect((await startOf(pool.org, late)).reason).toContain('present');
  await until(async () => {
    const { ready_count, stale_count } = await poolOf(pool);
    return ready_count === SIZE && stale_count === 0;
  });
});

it('replaces a workspace whose sandbox died', async () => {
  const pool = await makePool();
  await untilReady(pool);
  const [first] = await workspaces(pool.environmentId);
  driver.crash(first?.sandbox_id ?? '');
  await until(async () => (await workspaces(pool.environmentId)).some(({ status }) => status === 'failed'));
  const row = await world.db
    .updateTable('warm_pool')
    .set({ next_retry_at: new Date() })
    .where('environment_id', '=', pool.environmentId)
    .returning('error_count')
    .executeTakeFirst();
  expect(row?.error_count).toBe(1);
  await untilReady(pool);
  expect((await poolOf(pool)).error_count).toBe(0);
});

it('goes with its environment', async () => {
  const pool = await makePool();
  await untilReady(pool);
  const rows = await workspaces(pool.environmentId);
  expect((await pool.org.call('DELETE', `/v1/environments/${pool.environmentId}`)).status).toBe(200);
  await world.db
    .updateTable('sandbox')
    .set({ created_at: new Date(0) })
    .execute();
  await until(async () => {
    const states = await Promise.all(rows.map(({ sandbox_id }) => driver.observe(sandbox_id ?? '')));
    return states.every((state) => state === 'absent');
  });
  const layers = rows.map(({ layer_id }) => layer_id ?? '');
  await until(async () => (await driver.list()).layers.every((layer) => !layers.includes(layer)));
});
