import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FakeDriver } from '../../src/runtime/fake/driver.ts';
import { type Size, sizes } from '../../src/runtime/size.ts';
import { type FakeWorld, startFakeWorld } from '../world/fake-world.ts';
import { type ApiCall, type Organization, until, type World } from '../world/world.ts';

const POOL_SIZE = 2;
const path = '/v1/organization/sandbox-tier';

let world: World;
let driver: FakeDriver;
let org: Organization;
let environmentId: string;
/** What sandboxes were made with, by their ids. */
let specs: FakeWorld['specs'];
beforeAll(async () => {
  ({ world, driver, specs } = await startFakeWorld({
    environment: { REPLICA_WARM_POOL_SIZE: String(POOL_SIZE) },
  }));
});
beforeEach(async () => {
  org = await world.org();
  environmentId = (await org.call('POST', '/v1/environments', { name: 'sized' })).body.environment.id;
});
afterAll(() => world?.close());

const setTier = (size: unknown) => org.call('PUT', path, { size });
const tierOf = async ({ call }: { call: ApiCall } = org) => (await call('GET', path)).body.sandbox_tier;

function sizeOf(sandboxId: string | null): Size | undefined {
  const limits = specs.get(sandboxId ?? '')?.limits;
  return (['small', 'large'] as const).find((size) => sizes[size].diskMiB === limits?.diskMiB);
}

async function create(more: object = {}): Promise<{ id: string; size: Size | undefined }> {
  const wanted = { name: 'one', message: 'hello', environment_id: environmentId, ...more };
  const made = await org.call('POST', '/v1/replica', wanted);
  expect(made.body.replica?.status, JSON.stringify(made.body)).toBe('active');
  const { id } = made.body.replica;
  const row = world.db.selectFrom('replica').select('sandbox_id').where('id', '=', id);
  return { id, size: sizeOf((await row.executeTakeFirstOrThrow()).sandbox_id) };
}

const startOf = async (id: string) => (await org.call('GET', `/v1/replica/${id}/timeline`)).body.start;
const poolOf = async () =>
  (await org.call('GET', `/v1/environments/${environmentId}/warm-hooks`)).body.warm_pool;
const setPool = (enabled: boolean) =>
  org.call('PUT', `/v1/environments/${environmentId}/warm-pools`, { enabled });
const untilSettled = () =>
  until(async () => {
    const { ready_count, stale_count } = await poolOf();
    return ready_count === POOL_SIZE && stale_count === 0;
  });

const workspaces = () =>
  world.db
    .selectFrom('warm_pool_workspace')
    .select(['status', 'generation', 'sandbox_id'])
    .where('organization_id', '=', org.id)
    .execute();
const readySizes = async () =>
  (await workspaces()).filter(({ status }) => status === 'ready').map((row) => sizeOf(row.sandbox_id));

describe('the sandbox tier of an organization', () => {
  test("is the operator's until it is set, and again when it is taken back", async () => {
    expect(await tierOf()).toEqual({ size: 'small', is_default: true });
    for (const size of ['large', 'small']) {
      expect(await setTier(size)).toMatchObject({
        status: 200,
        body: { sandbox_tier: { size, is_default: false } },
      });
      expect(await tierOf()).toEqual({ size, is_default: false });
    }
    for (const _ of ['once', 'again'])
      expect((await setTier(null)).body.sandbox_tier).toEqual({ size: 'small', is_default: true });
    expect(await tierOf()).toEqual({ size: 'small', is_default: true });
  });

  test('is changed by admins and seen by members, of nobody else', async () => {
    const member = await world.person(org, 'member');
    expect((await member.call('PUT', path, { size: 'large' })).status).toBe(403);
    expect(await tierOf(member)).toEqual({ size: 'small', is_default: true });
    await setTier('large');
    expect(await tierOf(member)).toEqual({ size: 'large', is_default: false });
    expect(await tierOf(await world.org())).toEqual({ size: 'small', is_default: true });
  });

  test.each([{}, { size: 'huge' }, { size: '' }, { size: 2 }, { size: ['small'] }, []])(
    'is not set by %j',
    async (body) => {
      expect((await org.call('PUT', path, body)).status).toBe(400);
      expect(await tierOf()).toEqual({ size: 'small', is_default: true });
    },
  );

  test('gives a replica without a size its sandbox and leaves its rate, and a size that is named counts', async () => {
    await setPool(false);
    const before = await create();
    await setTier('large');
    const [after, small] = [await create(), await create({ size: 'small' })];
    expect([before.size, after.size, small.size]).toEqual(['small', 'large', 'small']);
    expect((await org.call('GET', `/v1/replica/${after.id}`)).body.replica.size).toBeNull();
    const { body } = await org.call('GET', '/v1/usage?group_by=replica');
    const amounts = Object.fromEntries(
      body.groups.map(({ key, minutes, amount }: { key: string; minutes: number; amount: number }) => [
        key,
        Math.round((amount / minutes) * 10_000) / 10_000,
      ]),
    );
    expect(amounts).toEqual({ [before.id]: 0.0166, [after.id]: 0.0166, [small.id]: 0.008 });
  });

  test('gives the sandbox in which a hook is tried its size', async () => {
    await setPool(false);
    await setTier('large');
    const hooks = `/v1/environments/${environmentId}/start-hooks`;
    expect((await org.call('POST', `${hooks}/test`, { content: 'true' })).status).toBe(200);
    const row = world.db.selectFrom('hook_test').select('sandbox_id').where('organization_id', '=', org.id);
    expect(sizeOf((await row.executeTakeFirstOrThrow()).sandbox_id)).toBe('large');
  });
});

describe('another sandbox tier', () => {
  test('makes warm workspaces stale, and none of the old size is handed out', async () => {
    await untilSettled();
    const { generation } = await poolOf();
    driver.delayMs = 300;
    try {
      await setTier('large');
      expect(await poolOf()).toMatchObject({ ready_count: 0, generation: generation + 1 });
      const early = await create();
      expect(early.size).toBe('large');
      const named = await create({ size: 'small' });
      expect(named.size).toBe('small');
    } finally {
      driver.delayMs = 0;
    }
    await untilSettled();
    expect(await readySizes()).toEqual(['large', 'large']);
    const late = await create();
    expect([(await startOf(late.id)).kind, late.size]).toEqual(['warm', 'large']);
  });

  test('that is the same leaves warm workspaces as they are', async () => {
    await untilSettled();
    const before = await poolOf();
    await setTier('small');
    await setTier(null);
    expect(await poolOf()).toEqual(before);
  });

  test("of the operator's reaches pools that nobody told of it", async () => {
    await setTier('large');
    await untilSettled();
    await world.db.deleteFrom('sandbox_tier').where('organization_id', '=', org.id).execute();
    await until(async () => (await readySizes()).includes('small'));
    await untilSettled();
    expect(await readySizes()).toEqual(['small', 'small']);
  });

  test('again and again while replicas are made leaves one size in each generation', async () => {
    for (const size of ['large', 'small', 'large', 'small', 'large']) {
      const [{ status }, ...made] = await Promise.all([setTier(size), create(), create({ size: 'small' })]);
      expect(status).toBe(200);
      expect(made[1]?.size).toBe('small');
      expect((await create()).size).toBe(size);
    }
    await untilSettled();
    expect(await readySizes()).toEqual(['large', 'large']);
    const sizesOf = new Map<number, Set<Size>>();
    for (const { generation, sandbox_id } of await workspaces()) {
      const size = sizeOf(sandbox_id);
      if (size) sizesOf.set(generation, (sizesOf.get(generation) ?? new Set()).add(size));
    }
    expect([...sizesOf.values()].every(({ size }) => size === 1)).toBe(true);
  });
});
