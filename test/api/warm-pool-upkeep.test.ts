import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';
import { makePoolAtRest } from './warm-pool-at-rest.ts';

const STALL_SECONDS = 1;
/** Where a driver keeps its things, which is nothing for tenants. */
const HOST_PATH = '/var/lib/somewhere/sandboxes';

let world: World;
let driver: FakeDriver;
beforeAll(async () => {
  world = await startWorld({
    environment: { REPLICA_WARM_POOL_SIZE: '1', REPLICA_STALL_SECONDS: String(STALL_SECONDS) },
    replaced: {
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return driver;
      },
    },
  });
});
afterAll(() => world.close());

type Pool = { org: Organization; environmentId: string };

async function makePool(warmHook?: string): Promise<Pool> {
  const org = await world.org();
  const made = await org.call('POST', '/v1/environments', { name: 'pooled' });
  const environmentId = made.body.environment.id;
  if (warmHook) {
    await org.call('POST', `/v1/environments/${environmentId}/warm-hooks/save`, { content: warmHook });
  }
  return { org, environmentId };
}

async function poolOf({ org, environmentId }: Pool) {
  return (await org.call('GET', `/v1/environments/${environmentId}/warm-hooks`)).body.warm_pool;
}

async function workspacesOf(pool: Pool) {
  const { id } = await poolOf(pool);
  return world.db.selectFrom('warm_pool_workspace').selectAll().where('warm_pool_id', '=', id).execute();
}

async function workspaceOf(id: string) {
  return world.db
    .selectFrom('warm_pool_workspace')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

const untilReady = (pool: Pool) => until(async () => (await poolOf(pool)).ready_count === 1);

async function addSandbox(org: Organization, workspaceId: string, hostId: string): Promise<string> {
  const id = newId();
  await world.db
    .insertInto('sandbox')
    .values({
      id,
      organization_id: org.id,
      purpose: 'warm_pool',
      warm_workspace_id: workspaceId,
      host_id: hostId,
      secret: randomBytes(8),
      secret_hash: randomBytes(32),
      size: 'small',
      created_at: new Date(),
    })
    .execute();
  await world.db
    .updateTable('warm_pool_workspace')
    .set({ sandbox_id: id })
    .where('id', '=', workspaceId)
    .execute();
  return id;
}

describe('workspaces of other hosts', () => {
  async function addHost(seenAt: Date | null): Promise<string> {
    const id = newId();
    if (seenAt) await world.db.insertInto('runtime_host').values({ id, seen_at: seenAt }).execute();
    return id;
  }

  it.each([
    ['was never seen', null],
    ['has been silent for long', new Date(Date.now() - 120_000)],
  ])('expire when their host %s, and do not stand in the way', async (_name, seenAt) => {
    const org = await world.org();
    const pool = await makePoolAtRest(world, org, { generation: 1 });
    const hostId = await addHost(seenAt);
    const ids = await Promise.all(
      ['warming', 'ready'].map((status) => pool.add(status, { host_id: hostId })),
    );
    const sandboxes = await Promise.all(ids.map((id) => addSandbox(org, id, hostId)));
    await until(async () => {
      const rows = await Promise.all(ids.map(workspaceOf));
      return rows.every(({ status }) => status === 'expired');
    });
    expect((await workspaceOf(ids[0] ?? '')).error_message).toBe('The machine it was on is gone.');
    const left = await world.db.selectFrom('sandbox').select('id').where('id', 'in', sandboxes).execute();
    expect(left).toEqual([]);
    await world.db.updateTable('warm_pool').set({ next_retry_at: null }).where('id', '=', pool.id).execute();
    await untilReady({ org, environmentId: 'global' });
  });

  it('count while their host is there', async () => {
    const org = await world.org();
    const pool = await makePoolAtRest(world, org, { generation: 1 });
    const id = await pool.add('ready', { host_id: await addHost(new Date(Date.now() + 3_600_000)) });
    await world.db.updateTable('warm_pool').set({ next_retry_at: null }).where('id', '=', pool.id).execute();
    // By the time that another pool is filled, this one was looked at.
    await untilReady(await makePool());
    const rows = await world.db
      .selectFrom('warm_pool_workspace')
      .select(['id', 'status'])
      .where('warm_pool_id', '=', pool.id)
      .execute();
    expect(rows).toEqual([{ id, status: 'ready' }]);
  });
});

describe('a warm build', () => {
  it('that is silent goes on while its engine says so, though not for ever', async () => {
    const pool = await makePool('hang');
    const { generation } = await poolOf(pool);
    const begun = await until(async () =>
      (await workspacesOf(pool)).find((row) => row.status === 'warming' && row.generation === generation),
    );
    const id = begun?.id ?? '';
    await until(async () => {
      const { status, progress_at, created_at } = await workspaceOf(id);
      const silentMs = Number(progress_at) - Number(created_at);
      return status === 'warming' && silentMs > 2_000 * STALL_SECONDS;
    });
    await world.db
      .updateTable('warm_pool_workspace')
      .set({ created_at: new Date(Date.now() - 3 * 3_600_000) })
      .where('id', '=', id)
      .execute();
    await until(async () => (await workspaceOf(id)).status === 'failed');
    expect((await poolOf(pool)).last_error_message).toBe('The workspace made no progress.');
    await pool.org.call('PUT', `/v1/environments/${pool.environmentId}/warm-pools`, { enabled: false });
  });

  it('whose sandbox cannot be made does not say where the driver keeps its things', async () => {
    driver.failNext('create', new Error(`mount: ${HOST_PATH}/1/disk: wrong fs type`));
    const pool = await makePool();
    await until(async () => (await poolOf(pool)).error_count > 0);
    const { last_error_message } = await poolOf(pool);
    expect(last_error_message).toBe('The workspace could not be prepared; the log of the service says why.');
    const [failed] = await workspacesOf(pool);
    expect(failed?.error_message).toBe(last_error_message);
  });
});

describe('a snapshot', () => {
  const layersOf = async (pool: Pool) =>
    world.db
      .selectFrom('warm_pool_layer')
      .selectAll()
      .where('warm_pool_id', '=', (await poolOf(pool)).id)
      .orderBy('created_at')
      .execute();

  it('that is old stays as long as a sandbox stands on it', async () => {
    const pool = await makePool();
    await untilReady(pool);
    const [old] = await layersOf(pool);
    const oldLayer = old?.id ?? '';
    const made = await pool.org.call('POST', '/v1/replica', {
      name: 'a',
      message: 'hi',
      environment_id: pool.environmentId,
    });
    await pool.org.call('POST', `/v1/environments/${pool.environmentId}/variables`, { key: 'A', value: 'b' });
    await until(async () => {
      const { ready_count, stale_count } = await poolOf(pool);
      return ready_count === 1 && stale_count === 0;
    });
    // By the time that another pool is filled, snapshots were looked at.
    await untilReady(await makePool());
    expect((await layersOf(pool)).map(({ id }) => id)).toContain(oldLayer);
    expect(await driver.hasLayer(oldLayer)).toBe(true);
    await pool.org.call('DELETE', `/v1/replica/${made.body.replica.id}`);
    await until(async () => !(await driver.hasLayer(oldLayer)));
    await until(async () => (await layersOf(pool)).length === 1);
  });

  it('that turns out to be gone is built anew', async () => {
    const pool = await makePool();
    await untilReady(pool);
    const [layer] = await layersOf(pool);
    await driver.removeLayer(layer?.id ?? '');
    const [ready] = await workspacesOf(pool);
    driver.crash(ready?.sandbox_id ?? '');
    const hurry = () =>
      world.db
        .updateTable('warm_pool')
        .set({ next_retry_at: null })
        .where('environment_id', '=', pool.environmentId)
        .execute();
    await until(
      async () => {
        await hurry();
        const [first, ...more] = await layersOf(pool);
        return more.length === 0 && first !== undefined && first.id !== layer?.id && first.is_ready;
      },
      { intervalMs: 100 },
    );
    await untilReady(pool);
  });
});

describe('what has ended', () => {
  it('is kept for the latest 20, with its hook runs, and for what still builds on it', async () => {
    const { org, environmentId } = await makePool();
    const pool = await makePoolAtRest(world, org, { generation: 1 });
    const addEnded = (n: number) =>
      pool.add(n % 2 ? 'failed' : 'expired', { at: new Date(Date.UTC(2026, 0, 1) + n * 1_000) });
    const common = { organization_id: org.id, created_at: new Date() };
    const addRun = (warm_workspace_id: string) =>
      world.db
        .insertInto('hook_run')
        .values({
          ...common,
          id: newId(),
          sandbox_id: newId(),
          warm_workspace_id,
          phase: 'warm',
          type: 'global',
          name: 'global',
          commands: [],
          position: 0,
          status: 'finished',
        })
        .execute();
    const [builder, used, first] = [await addEnded(0), await addEnded(1), await addEnded(2)];
    await world.db
      .insertInto('warm_pool_layer')
      .values({
        ...common,
        id: newId(),
        warm_pool_id: pool.id,
        generation: 1,
        host_id: newId(),
        built_by: builder,
      })
      .execute();
    const made = await org.call('POST', '/v1/replica', {
      name: 'a',
      message: 'hi',
      environment_id: environmentId,
    });
    await world.db
      .updateTable('replica')
      .set({ environment_id: pool.environmentId, warm_workspace_id: used })
      .where('id', '=', made.body.replica.id)
      .execute();
    await addRun(first);
    const ids = [builder, used, first];
    for (let n = 3; n < 25; n += 1) ids.push(await addEnded(n));
    const last = ids.at(-1) ?? '';
    await addRun(last);
    const kept = new Set([builder, used, ...ids.slice(5)]);
    const left = async () => {
      const rows = await world.db
        .selectFrom('warm_pool_workspace')
        .select('id')
        .where('warm_pool_id', '=', pool.id)
        .execute();
      return rows.map(({ id }) => id);
    };
    await until(async () => (await left()).length === kept.size);
    expect(new Set(await left())).toEqual(kept);
    const runs = await world.db
      .selectFrom('hook_run')
      .select('warm_workspace_id')
      .where('warm_workspace_id', 'in', ids)
      .execute();
    expect(runs).toEqual([{ warm_workspace_id: last }]);
  });
});
