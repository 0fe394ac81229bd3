import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let environment_id: string;
let clockMs = 0;

beforeAll(async () => {
  world = await startWorld({
    environment: { REPLICA_STALL_SECONDS: '1' },
    replaced: { now: () => new Date(Date.now() + clockMs) },
  });
  org = await world.org();
  environment_id = (await org.call('POST', '/v1/environments', { name: 'e' })).body.environment.id;
});
afterAll(() => world.close());

/** A sleeping replica whose sandbox is on a host that was never heard of. */
async function strand(): Promise<string> {
  const made = await org.call('POST', '/v1/replica', { name: 'a', message: 'hi', environment_id });
  const id: string = made.body.replica.id;
  await org.call('POST', `/v1/workspaces/${id}/sleep`);
  await reach(id, 'sleeping');
  const host_id = newId();
  await world.db.updateTable('replica').set({ host_id }).where('id', '=', id).execute();
  await world.db.updateTable('sandbox').set({ host_id }).where('replica_id', '=', id).execute();
  return id;
}

function reach(id: string, state: string) {
  return until(async () => {
    const row = await world.db.selectFrom('replica').select('state').where('id', '=', id).executeTakeFirst();
    return row?.state === state;
  });
}

it('wakes a replica of a host that is gone on another one', async () => {
  const id = await strand();
  expect((await org.call('POST', `/v1/replica/${id}/wake`)).status).toBe(202);
  clockMs += 120_000;
  await reach(id, 'active');
  const { body } = await org.call('GET', `/v1/replica/${id}/timeline`);
  expect(body.start.kind).toBe('rebuilt');
});

it('deletes a replica of a host that is gone', async () => {
  const id = await strand();
  expect((await org.call('DELETE', `/v1/replica/${id}`)).status).toBe(200);
  clockMs += 120_000;
  await reach(id, 'deleted');
});
