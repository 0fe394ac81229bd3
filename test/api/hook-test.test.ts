import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { lockOpenTest } from '../../src/hook-test/store.ts';
import type { FakeDriver } from '../../src/runtime/fake/driver.ts';
import { lockSandbox } from '../../src/sandbox/store.ts';
import { startFakeWorld } from '../world/fake-world.ts';
import { type Organization, until, type World } from '../world/world.ts';

/** Where a driver keeps its things, which is nothing for tenants. */
const HOST_PATH = '/var/lib/somewhere/sandboxes';

let world: World;
let driver: FakeDriver;
let org: Organization;
let at: string;
beforeAll(async () => {
  ({ world, driver } = await startFakeWorld());
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

type Seen = { event: string; data: Record<string, unknown> };

/** The events of a test up to its end. */
async function follow(path: string, body: object): Promise<Seen[]> {
  const seen: Seen[] = [];
  for await (const frame of await org.stream('POST', `${at}${path}`, { body })) {
    if ('event' in frame) seen.push(frame as Seen);
  }
  return seen;
}

const names = (seen: Seen[]) => seen.map(({ event }) => event);
const warmHook = async () => (await org.call('GET', `${at}/warm-hooks`)).body.warm_hook;
const warmStream = '/warm-hooks/save-test/stream';

test('a warm hook that is tried as it is saved is in the last event, with how it ended', async () => {
  const seen = await follow(warmStream, { content: 'make' });
  expect(new Set(names(seen))).toEqual(new Set(['progress', 'output', 'complete']));
  expect(seen[0]).toMatchObject({
    event: 'progress',
    data: { status: expect.any(String), message: expect.any(String) },
  });
  expect(seen.at(-1)).toMatchObject({
    event: 'complete',
    data: {
      exit_code: 0,
      timed_out: false,
      warm_hook: { content: 'make', version: 1, is_active: true },
    },
  });
  expect(await warmHook()).toEqual(seen.at(-1)?.data.warm_hook);
});

test('a warm hook that fails is saved all the same, unless the caller wants it only when it succeeds', async () => {
  const failing = await follow(warmStream, { content: 'exit 3', persist: 'on_success' });
  expect(failing.at(-1)?.data).toEqual({ exit_code: 3, timed_out: false, warm_hook: null });
  expect(await warmHook()).toBeNull();
  const kept = await follow(warmStream, { content: 'exit 3' });
  expect(kept.at(-1)?.data).toMatchObject({ exit_code: 3, warm_hook: { content: 'exit 3' } });
  const answered = await org.call('POST', `${at}/warm-hooks/save-test`, { content: 'exit 4' });
  expect(answered.body).toMatchObject({ warm_hook: { content: 'exit 4' }, test: { exit_code: 4 } });
  expect((await warmHook()).content).toBe('exit 4');
});

test('a hook that is only tried is not saved, whichever way it is tried', async () => {
  const tried = await org.call('POST', `${at}/warm-hooks/test`, { content: 'make' });
  expect(tried.body).toEqual({ test: { exit_code: 0, output: 'fake: make\n', timed_out: false } });
  const streamed = await follow(warmStream, { content: 'make', mode: 'test_only' });
  expect(streamed.at(-1)).toEqual(
    expect.objectContaining({ event: 'complete', data: { exit_code: 0, timed_out: false } }),
  );
  const start = await follow('/start-hooks/test/stream', { content: 'exit 2' });
  expect(start.find(({ event }) => event === 'output')?.data).toEqual({ output: 'fake: exit 2\n' });
  expect(start.at(-1)?.data).toEqual({ exit_code: 2, timed_out: false });
  expect(await warmHook()).toBeNull();
  expect((await org.call('GET', `${at}/start-hooks`)).body.start_hook).toBeNull();
});

test.each(['/start-hooks/test/stream', warmStream])(
  'a test at %s whose sandbox cannot be made ends with an error',
  async (path) => {
    driver.failNext('create', new Error('no luck'));
    const seen = await follow(path, { content: 'make' });
    expect(seen[0]?.event).toBe('progress');
    expect(seen.at(-1)).toMatchObject({
      event: 'error',
      data: { message: expect.stringContaining('could not be started') },
    });
  },
);

test('another mode is refused', async () => {
  const refused = await org.call('POST', `${at}${warmStream}`, { content: 'make', mode: 'save' });
  expect(refused.status).toBe(400);
});
