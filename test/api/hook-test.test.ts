import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { lockOpenTest } from '../../src/hook-test/store.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { lockSandbox } from '../../src/sandbox/store.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

/** Where a driver keeps its things, which is nothing for tenants. */
const HOST_PATH = '/var/lib/somewhere/sandboxes';

let world: World;
let driver: FakeDriver;
let org: Organization;
let at: string;
beforeAll(async () => {
  world = await startWorld({
    replaced: {
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return driver;
      },
    },
  });
});
beforeEach(async () => {
  org = await world.org();
  const made = await org.call('POST', '/v1/environments', { name: 'tried' });
  at = `/v1/environments/${made.body.environment.id}`;
});
afterAll(() => world.close());

const testsOf = () =>
  world.db.selectFrom('hook_test').selectAll().where('organization_id', '=', org.id).execute();

test('a test whose sandbox cannot be made does not say where the driver keeps its things', async () => {
  driver.failNext('create', new Error(`mount: ${HOST_PATH}/1/disk: wrong fs type`));
  const tried = await org.call('POST', `${at}/start-hooks/test`, { content: 'true' });
  expect(tried.status).toBe(502);
  expect(tried.body.error).toBe(
    'The sandbox of the test could not be started; the log of the service says why.',
  );
});

test('a test that has ended goes after a day, with its output', async () => {
  const tried = await org.call('POST', `${at}/start-hooks/test`, { content: 'echo' });
  expect(tried.body.test).toEqual({ exit_code: 0, output: 'fake: echo\n', timed_out: false });
  const [ended] = await testsOf();
  const runs = () =>
    world.db
      .selectFrom('hook_run')
      .select('id')
      .where('hook_test_id', '=', ended?.id ?? null)
      .execute();
  expect(await runs()).toHaveLength(1);
  await world.db
    .updateTable('hook_test')
    .set({ updated_at: new Date(Date.now() - 25 * 3_600_000) })
    .where('id', '=', ended?.id ?? '')
    .execute();
  await until(async () => (await testsOf()).length === 0);
  expect(await runs()).toEqual([]);
});

test('whoever ends a test waits for its sandbox before holding the test', async () => {
  const stream = await org.stream('POST', `${at}/start-hooks/test/stream`, { body: { content: 'hang' } });
  await stream.event('output');
  const [open] = await testsOf();
  await world.db.transaction().execute(async (tx) => {
    await lockSandbox(tx, open?.sandbox_id ?? '');
    await stream.close();
    await until(async () => {
      const { rows } = await sql`select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`.execute(tx);
      return rows.length > 0;
    });
    await sql`set local lock_timeout = '2s'`.execute(tx);
    expect(await lockOpenTest(tx, open?.id ?? '')).toBeDefined();
  });
  await until(async () => (await testsOf())[0]?.status === 'cancelled');
});
