import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FakeDriver } from '../../src/runtime/fake/driver.ts';
import { startFakeWorld } from '../world/fake-world.ts';
import { type Organization, until, type World } from '../world/world.ts';

let world: World;
let driver: FakeDriver;
let org: Organization;
let environment_id: string;

beforeAll(async () => {
  ({ world, driver } = await startFakeWorld());
  org = await world.org();
  environment_id = (await org.call('POST', '/v1/environments', { name: 'e' })).body.environment.id;
});
afterAll(() => world.close());

async function create(): Promise<string> {
  const made = await org.call('POST', '/v1/replica', { name: 'a', message: 'hi', environment_id });
  expect(made.body.replica.status).toBe('active');
  return made.body.replica.id;
}

async function rowOf(id: string) {
  return world.db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

const reach = (id: string, state: string) =>
  until(async () => (await rowOf(id)).state === state, { timeoutMs: 20_000 });

async function sleepNow(id: string): Promise<string> {
  await org.call('POST', `/v1/workspaces/${id}/sleep`);
  await reach(id, 'sleeping');
  return (await rowOf(id)).sandbox_id ?? '';
}

it('keeps the disk of a replica that cannot be woken, says why, and wakes it later', async () => {
  const id = await create();
  const sandbox = await sleepNow(id);
  driver.failNext('resume', new Error('no'));
  driver.failNext('resume', new Error('no'));
  const sent = await org.call('POST', `/v1/replica/${id}/messages`, { message: 'hello' });
  expect(sent.body.status).toBe('waking');
  await until(async () => (await rowOf(id)).attempts >= 1);
  await world.db.updateTable('replica').set({ attempts: 9 }).where('id', '=', id).execute();
  await reach(id, 'sleeping');
  expect(await driver.observe(sandbox)).toBe('stopped');
  const read = await org.call('GET', `/v1/replica/${id}?wake=false`);
  expect(read.body.replica.status).toBe('sleeping');
  expect(read.body.replica.config.provisioning_error.message).toContain('could not be started');
  const message = await world.db
    .selectFrom('message')
    .select('state')
    .where('id', '=', sent.body.message_id)
    .executeTakeFirst();
  expect(message?.state).toBe('failed');
  await org.call('POST', `/v1/replica/${id}/wake`);
  await reach(id, 'active');
  expect((await rowOf(id)).sandbox_id).toBe(sandbox);
  expect((await org.call('GET', `/v1/replica/${id}`)).body.replica.config).toEqual({});
});

it('goes on restoring until a boot has finished, whatever comes in between', async () => {
  const id = await create();
  driver.lose(await sleepNow(id));
  driver.failNext('create', new Error('not yet'), 'after');
  driver.failNext('connect', new Error('not yet'));
  await org.call('POST', `/v1/replica/${id}/wake`);
  await reach(id, 'active');
  expect(await rowOf(id)).toMatchObject({ start_kind: 'rebuilt', has_booted: true });
});

it('takes the right to speak from a sandbox in the moment of the deletion', async () => {
  const id = await create();
  const sandbox = (await rowOf(id)).sandbox_id ?? '';
  for (let i = 0; i < 3; i++) driver.failNext('destroy', new Error('busy'));
  await org.call('DELETE', `/v1/replica/${id}`);
  const row = await world.db.selectFrom('sandbox').selectAll().where('id', '=', sandbox).executeTakeFirst();
  expect(row === undefined || row.removing_at !== null).toBe(true);
  await reach(id, 'deleted');
  expect(await driver.observe(sandbox)).toBe('absent');
});

it('removes a sandbox whose removal was forgotten', async () => {
  const id = await create();
  const sandbox = await sleepNow(id);
  await world.db
    .updateTable('sandbox')
    .set({ removing_at: new Date(0) })
    .where('id', '=', sandbox)
    .execute();
  await until(async () => (await driver.observe(sandbox)) === 'absent', { timeoutMs: 20_000 });
});

it('answers 404 to a create whose replica is deleted before it is ready', async () => {
  driver.delayMs = 2_000;
  try {
    const creating = org.call('POST', '/v1/replica', { name: 'gone', message: 'hi', environment_id });
    const made = await until(() =>
      world.db.selectFrom('replica').selectAll().where('name', '=', 'gone').executeTakeFirst(),
    );
    await org.call('DELETE', `/v1/replica/${made?.id}`);
    driver.delayMs = 0;
    expect((await creating).status).toBe(404);
  } finally {
    driver.delayMs = 0;
  }
});
