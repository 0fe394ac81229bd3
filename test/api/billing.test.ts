import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

const MINUTE = 60_000;

let world: World;
let org: Organization;
let environmentId: string;
let clockMs = 0;
beforeAll(async () => {
  world = await startWorld({
    environment: { REPLICA_STALL_SECONDS: '3600' },
    replaced: { now: () => new Date(Date.now() + clockMs) },
  });
  org = await world.org();
  environmentId = (await org.call('POST', '/v1/environments', { name: 'billed' })).body.environment.id;
});
afterAll(() => world.close());

async function create(more: object = {}): Promise<{ id: string }> {
  const wanted = { name: 'billed', message: 'hello', environment_id: environmentId, ...more };
  return (await org.call('POST', '/v1/replica', wanted)).body.replica;
}

async function billOf(replicaId: string): Promise<{ minutes: number; amount: number } | undefined> {
  const { body } = await org.call('GET', '/v1/usage?group_by=replica');
  return body.groups.find(({ key }: { key: string }) => key === replicaId);
}

const reach = (id: string, state: string) =>
  until(async () => {
    const row = world.db.selectFrom('replica').select('state').where('id', '=', id);
    return (await row.executeTakeFirst())?.state === state;
  });

test('a replica is billed at its own rate while it is active, and its bill is settled when it is deleted', async () => {
  const [small, large, unnamed] = [
    await create({ size: 'small' }),
    await create({ size: 'large' }),
    await create(),
  ];
  clockMs += 10 * MINUTE;
  for (const { id } of [small, large, unnamed]) {
    expect((await org.call('DELETE', `/v1/replica/${id}`)).status).toBe(200);
  }
  const settled = await Promise.all([small, large, unnamed].map(({ id }) => billOf(id)));
  // Ten minutes and the seconds around them: eleven were begun.
  expect(settled).toMatchObject([
    { minutes: 11, amount: 0.088 },
    { minutes: 11, amount: 0.176 },
    { minutes: 11, amount: 0.1826 },
  ]);
  clockMs += 60 * MINUTE;
  expect(await Promise.all([small, large, unnamed].map(({ id }) => billOf(id)))).toEqual(settled);
});

test('time asleep is not billed, and waking begins a stretch of its own', async () => {
  const { id } = await create({ size: 'small' });
  await org.call('POST', `/v1/workspaces/${id}/sleep`);
  await reach(id, 'sleeping');
  const first = await billOf(id);
  clockMs += 30 * MINUTE;
  expect(await billOf(id)).toEqual(first);
  await org.call('POST', `/v1/replica/${id}/wake`);
  await reach(id, 'active');
  expect((await billOf(id))?.minutes).toBe((first?.minutes ?? 0) + 1);
});
