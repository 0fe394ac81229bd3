import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { createWarmPoolService } from '../../src/warm-pool/service.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';
import { makePoolAtRest, type PoolAtRest } from './warm-pool-at-rest.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_WARM_POOL_SIZE: '3' } });
});
afterAll(() => world.close());

test('a new environment has a warm pool that is on, and PUT switches it', async () => {
  const org = await world.org();
  const environment = await makeEnvironment(org, 'web');
  const off = await org.call('PUT', `/v1/environments/${environment}/warm-pools`, { enabled: false });
  expect(off.status).toBe(200);
  expect(off.body).toEqual({
    warm_pool: {
      id: expect.any(String),
      organization_id: org.id,
      environment_id: environment,
      enabled: false,
      target_size: 3,
      generation: 1,
      error_count: 0,
      next_retry_at: null,
      last_error_at: null,
      last_error_message: null,
      last_failure_at: null,
      last_failure_reason: null,
      has_base_snapshot: false,
      ready_count: 0,
      stale_count: 0,
      warming_count: 0,
      snapshotting_count: 0,
      updated_at: expect.any(String),
    },
  });
  const on = await org.call('PUT', `/v1/environments/${environment}/warm-pools`, { enabled: true });
  expect(on.body.warm_pool).toMatchObject({ id: off.body.warm_pool.id, enabled: true, generation: 1 });
});

test('the Global environment gets a warm pool when it is asked for, one also when many ask at once', async () => {
  const org = await world.org();
  const before = await org.call('GET', '/v1/environments/global/warm-hooks');
  expect(before.body.warm_pool).toBeNull();
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) =>
      org.call('PUT', '/v1/environments/global/warm-pools', { enabled: index % 2 === 0 }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
  expect(new Set(answers.map(({ body }) => body.warm_pool.id)).size).toBe(1);
  const rows = await world.db
    .selectFrom('warm_pool')
    .select('id')
    .where('organization_id', '=', org.id)
    .execute();
  expect(rows).toHaveLength(1);
});

test('the counts are those of the workspaces in the pool, and its snapshot that of the present generation', async () => {
  const org = await world.org();
  const pool = await makePoolAtRest(world, org, { generation: 5 });
  for (const status of ['warming', 'warming', 'snapshotting', 'assigned', 'expired', 'failed', 'ready']) {
    await pool.add(status);
  }
  await addLayer(org, pool, { generation: 4 });
  const snapshot = await addLayer(org, pool, { generation: 5 });
  expect(await readPool(org, 'global')).toMatchObject({
    ready_count: 1,
    stale_count: 0,
    warming_count: 2,
    snapshotting_count: 1,
    has_base_snapshot: false,
  });
  await pool.add('ready', { generation: 4 });
  await pool.add('ready', { generation: 1 });
  await world.db.updateTable('warm_pool_layer').set({ is_ready: true }).where('id', '=', snapshot).execute();
  expect(await readPool(org, 'global')).toMatchObject({
    ready_count: 1,
    stale_count: 2,
    has_base_snapshot: true,
  });
});

test('a change of one environment makes its own pool older, a change of the Global one every pool of the organization', async () => {
  const [org, other] = [await world.org(), await world.org()];
  const [a, b] = [await makeEnvironment(org, 'a'), await makeEnvironment(org, 'b')];
  const foreign = await makeEnvironment(other, 'a');
  await org.call('PUT', '/v1/environments/global/warm-pools', { enabled: true });
  const generations = async () => [
    (await readPool(org, a)).generation,
    (await readPool(org, b)).generation,
    (await readPool(org, 'global')).generation,
    (await readPool(other, foreign)).generation,
  ];
  await addVariable(org, a, 'A');
  expect(await generations()).toEqual([2, 1, 1, 1]);
  await addVariable(org, 'global', 'A');
  expect(await generations()).toEqual([3, 2, 2, 1]);
});

test('changes of many environments at once lose no generation', async () => {
  const org = await world.org();
  const environments = await Promise.all(['a', 'b', 'c'].map((name) => makeEnvironment(org, name)));
  const changes = Array.from({ length: 8 }, (_, index) =>
    ['global', ...environments].map((environment) => addVariable(org, environment, `K${index}`)),
  );
  const statuses = await Promise.all(changes.flat());
  expect(new Set(statuses)).toEqual(new Set([201]));
  for (const environment of environments) {
    expect((await readPool(org, environment)).generation).toBe(1 + 8 + 8);
  }
});

test('a moved repository makes the pools older of what is bound to it, directly or through a set', async () => {
  const org = await world.org();
  const at = new Date();
  const stamps = { organization_id: org.id, created_at: at, updated_at: at };
  const [one, two] = [newId(), newId()];
  for (const id of [one, two]) {
    const url = `https://git.example.com/${id}`;
    await world.db
      .insertInto('repository')
      .values({ ...stamps, id, name: id, url, url_key: url, status: 'ready' })
      .execute();
  }
  const set = newId();
  await world.db
    .insertInto('repository_set')
    .values({ ...stamps, id: set, name: 'set' })
    .execute();
  for (const [position, repository_id] of [one, two].entries()) {
    await world.db
      .insertInto('repository_set_member')
      .values({ repository_set_id: set, repository_id, position })
      .execute();
  }
  const direct = await makeEnvironment(org, 'direct', { repository_id: one });
  const through = await makeEnvironment(org, 'through', { repository_set_id: set });
  const unrelated = await makeEnvironment(org, 'unrelated', { repository_id: two });
  const unbound = await makeEnvironment(org, 'unbound');
  const pools = createWarmPoolService({ newId, now: () => new Date(), targetSize: 1 });
  await pools.bumpRepository(world.db, one);
  const all = [direct, through, unrelated, unbound];
  const generations = await Promise.all(all.map(async (id) => (await readPool(org, id)).generation));
  expect(generations).toEqual([2, 2, 1, 1]);
});

describe('a bad request is refused and changes nothing', () => {
  test.each([[{}], [{ enabled: null }], [{ enabled: 'true' }], [{ enabled: 1 }], [[]], [null], ['{']])(
    '%j',
    async (body) => {
      const org = await world.org();
      const answer = await org.call('PUT', '/v1/environments/global/warm-pools', body ?? 'null');
      expect(answer.status).toBe(400);
      expect((await org.call('GET', '/v1/environments/global/warm-hooks')).body.warm_pool).toBeNull();
    },
  );

  test('target_size cannot be set', async () => {
    const org = await world.org();
    const body = { enabled: true, target_size: 99, generation: 99 };
    const answer = await org.call('PUT', '/v1/environments/global/warm-pools', body);
    expect(answer.body.warm_pool).toMatchObject({ target_size: 3, generation: 1 });
  });

  test('an environment that is absent, foreign or no id is 404', async () => {
    const [org, other] = [await world.org(), await world.org()];
    const foreign = await makeEnvironment(other, 'a');
    for (const id of [newId(), foreign, 'nothing', '%00']) {
      const answer = await org.call('PUT', `/v1/environments/${id}/warm-pools`, { enabled: false });
      expect(answer.status).toBe(404);
    }
    expect((await readPool(other, foreign)).enabled).toBe(true);
  });

  test('without a key it is 401', async () => {
    const answer = await world.call('PUT', '/v1/environments/global/warm-pools', { enabled: true });
    expect(answer.status).toBe(401);
  });
});

async function addLayer(org: Organization, pool: PoolAtRest, { generation }: { generation: number }) {
  const id = newId();
  await world.db
    .insertInto('warm_pool_layer')
    .values({
      id,
      organization_id: org.id,
      warm_pool_id: pool.id,
      generation,
      // Of another host, so that this one does not look after it.
      host_id: newId(),
      created_at: new Date(),
    })
    .execute();
  return id;
}

async function makeEnvironment(org: Organization, name: string, binding = {}): Promise<string> {
  const { body } = await org.call('POST', '/v1/environments', { name, ...binding });
  return body.environment.id;
}

async function addVariable(org: Organization, environment: string, key: string): Promise<number> {
  return (await org.call('POST', `/v1/environments/${environment}/variables`, { key, value: '' })).status;
}

async function readPool(org: Organization, environment: string) {
  return (await org.call('GET', `/v1/environments/${environment}/warm-hooks`)).body.warm_pool;
}
