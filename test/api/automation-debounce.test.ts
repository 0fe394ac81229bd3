import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { createDatabase } from '../world/database.ts';
import { ServiceFolder } from '../world/service-process.ts';
import { type ApiCall, caller, type Organization, startWorld, until, type World } from '../world/world.ts';

let aheadMs = 0;
let world: World;
let org: Organization;

beforeAll(async () => {
  world = await startWorld({ replaced: { now: () => new Date(Date.now() + aheadMs) } });
  org = await world.org();
});
afterAll(() => world?.close());

async function create(call: ApiCall, debounceSeconds: number) {
  const { body: made } = await call('POST', '/v1/environments', { name: newId() });
  const { body } = await call('POST', '/v1/automations', {
    name: 'Tickets',
    prompt: 'Look at the ticket.',
    environment_id: made.environment.id,
    triggers: [{ type: 'custom' }],
    debounce_seconds: debounceSeconds,
  });
  return { id: body.automation.id, path: `/v1/automations/webhook/${body.automation.webhook_token}` };
}

async function payloadsOf(call: ApiCall, id: string): Promise<unknown[]> {
  const { body } = await call('GET', `/v1/automations/${id}/executions`);
  return body.executions.map((execution: { trigger_payload: unknown }) => execution.trigger_payload);
}

async function isWaiting(id: string): Promise<boolean> {
  const rows = await world.db
    .selectFrom('automation_debounce')
    .select('cause')
    .where('automation_id', '=', id)
    .execute();
  return rows.length > 0;
}

test('a burst of events is one run with the last of them', async () => {
  const { id, path } = await create(org.call, 1);
  for (const n of [1, 2, 3]) await world.call('POST', path, { n });
  expect(await isWaiting(id)).toBe(true);
  await until(async () => !(await isWaiting(id)));
  expect(await payloadsOf(org.call, id)).toEqual([{ n: 3 }]);
  await world.call('POST', path, { n: 4 });
  await until(async () => !(await isWaiting(id)));
  expect(await payloadsOf(org.call, id)).toEqual([{ n: 4 }, { n: 3 }]);
});

test('each event puts the run off anew', async () => {
  const { id, path } = await create(org.call, 600);
  for (const n of [1, 2, 3]) {
    await world.call('POST', path, { n });
    aheadMs += 500_000;
  }
  expect(await payloadsOf(org.call, id)).toEqual([]);
  aheadMs += 100_000;
  await until(async () => !(await isWaiting(id)));
  expect(await payloadsOf(org.call, id)).toEqual([{ n: 3 }]);
});

test('an event that comes when the time is over leaves the run that is due as it is', async () => {
  const { id, path } = await create(org.call, 600);
  await world.call('POST', path, { n: 1 });
  aheadMs += 600_000;
  await world.call('POST', path, { n: 2 });
  expect(await payloadsOf(org.call, id)).toEqual([{ n: 1 }]);
  expect(await isWaiting(id)).toBe(true);
});

test('a run that waits is dropped when its automation is switched off or deleted', async () => {
  const [off, gone] = [await create(org.call, 600), await create(org.call, 600)];
  for (const { path } of [off, gone]) await world.call('POST', path, {});
  await org.call('PATCH', `/v1/automations/${off.id}`, { enabled: false });
  await org.call('DELETE', `/v1/automations/${gone.id}`);
  expect(await isWaiting(gone.id)).toBe(false);
  aheadMs += 601_000;
  await until(async () => !(await isWaiting(off.id)));
  expect(await payloadsOf(org.call, off.id)).toEqual([]);
});

test('a service that is killed between the events and the run begins it once when it is back', async () => {
  const database = await createDatabase();
  const folder = await ServiceFolder.create({ DATABASE_URL: database.url });
  try {
    const killed = await folder.serve();
    const call = caller(folder.baseUrl, folder.bootstrap().api_key);
    const { id, path } = await create(call, 2);
    for (const n of [1, 2]) expect((await call('POST', path, { n })).status).toBe(202);
    await killed.kill('SIGKILL');
    const again = await folder.serve();
    await until(async () => (await payloadsOf(call, id)).length > 0, { timeoutMs: 20_000 });
    await until(async () => {
      const { body } = await call('GET', `/v1/automations/${id}/executions`);
      return body.executions.every(({ status }: { status: string }) => status === 'completed');
    });
    expect(await payloadsOf(call, id)).toEqual([{ n: 2 }]);
    await again.kill('SIGTERM');
  } finally {
    await folder.remove();
    await database.drop();
  }
});

test('what waits is dropped when the automation is switched off, also when it is switched on again', async () => {
  const { id, path } = await create(org.call, 600);
  await world.call('POST', path, { n: 1 });
  expect(await isWaiting(id)).toBe(true);
  for (const enabled of [false, true]) await org.call('PATCH', `/v1/automations/${id}`, { enabled });
  expect(await isWaiting(id)).toBe(false);
});
