import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Db, openDatabase } from '../../src/db/database.ts';
import type { DB } from '../../src/db/schema.ts';
import { transact } from '../../src/db/transact.ts';
import type { EngineEvent } from '../../src/engine/protocol.ts';
import { createHookRunService } from '../../src/hook-run/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { createFakeDriver } from '../../src/runtime/fake/driver.ts';
import { createSandboxService, type SandboxRow } from '../../src/sandbox/service.ts';
import { parseKeyRing } from '../../src/secret/key-ring.ts';
import { createSealer } from '../../src/secret/seal.ts';
import { createClaim } from '../../src/warm-pool/claim.ts';
import { lockPool, lockWorkspace } from '../../src/warm-pool/workspace-store.ts';
import { createWarmWorkspaceService } from '../../src/warm-pool/workspaces.ts';
import { migrateWork } from '../../src/work/migrate.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { createDatabase } from '../world/database.ts';

const log = pino({ level: 'silent' });
const now = () => new Date();
const size = 'small';
const tierOf = async () => size;
const at = now();
const stamps = { created_at: at, updated_at: at };

const driver = createFakeDriver({ gatewayFolder: '/nowhere' });
const sandboxes = createSandboxService({
  driver,
  hostId: newId(),
  sealer: createSealer(parseKeyRing(randomBytes(32).toString('base64'))),
  limitsOf: () => ({ cpus: 1, memoryMiB: 512, diskMiB: 512, processes: 64 }),
  engineEnvironment: {},
  newId,
  now,
});
const workspaces = createWarmWorkspaceService({
  sandboxes,
  hookRuns: createHookRunService({ now }),
  signals: { touch() {} },
  targetSize: 1,
  tierOf,
  newId,
  now,
});

const everything = new AsyncDisposableStack();
let db: Db & Kysely<DB>;
const organizationId = newId();
let environmentId: string;
let poolId: string;
let workspaceId: string;
let sandbox: SandboxRow;
beforeAll(async () => {
  const database = await createDatabase();
  everything.defer(() => database.drop());
  const opened = openDatabase({ url: database.url, poolSize: 8, log });
  everything.defer(opened.close);
  await migrateWork(opened.pool, log);
  db = opened.db;
  await db
    .insertInto('organization')
    .values({ id: organizationId, name: 'Test', slug: organizationId })
    .execute();
});
afterAll(() => everything.disposeAsync());

beforeEach(async () => {
  [environmentId, poolId, workspaceId] = [newId(), newId(), newId()];
  const owned = { organization_id: organizationId, ...stamps };
  await db
    .insertInto('environment')
    .values({ ...owned, id: environmentId, name: environmentId })
    .execute();
  await db
    .insertInto('warm_pool')
    .values({ ...owned, id: poolId, environment_id: environmentId, enabled: true })
    .execute();
  await db
    .insertInto('warm_pool_workspace')
    .values({
      ...owned,
      id: workspaceId,
      warm_pool_id: poolId,
      status: 'warming',
      generation: 1,
      host_id: sandboxes.hostId,
    })
    .execute();
  sandbox = await sandboxes.make(db, {
    organizationId,
    environmentId,
    purpose: 'warm_pool',
    warmWorkspaceId: workspaceId,
    size,
    layers: [],
  });
  await db
    .updateTable('warm_pool_workspace')
    .set({ sandbox_id: sandbox.id })
    .where('id', '=', workspaceId)
    .execute();
});

/** Acts in a transaction that stays open until `commit` is called. */
async function open(act: (tx: Db) => Promise<unknown>): Promise<{ commit(): Promise<void> }> {
  const acted = Promise.withResolvers<void>();
  const committing = Promise.withResolvers<void>();
  const done = db.transaction().execute(async (tx) => {
    await sql`set local lock_timeout = '5s'`.execute(tx);
    await act(tx);
    acted.resolve();
    await committing.promise;
  });
  done.catch(acted.reject);
  await acted.promise;
  return {
    async commit() {
      committing.resolve();
      await done;
    },
  };
}

/** As the gateway takes it: the sandbox is held. */
const take = (tx: Db, events: EngineEvent[]) =>
  sandboxes.lock(tx, sandbox.id).then((held) => held && workspaces.take(tx, held, events));

const untilSomebodyWaits = () =>
  expect
    .poll(async () => {
      const { rows } = await sql`select from pg_stat_activity
        where wait_event_type = 'Lock' and datname = current_database()`.execute(db);
      return rows.length;
    })
    .toBe(1);

const event = <T extends EngineEvent['type']>(
  type: T,
  payload: Extract<EngineEvent, { type: T }>['payload'],
) => ({ seq: 1, at: at.toISOString(), type, payload }) as EngineEvent;
const started = event('engine.started', { version: '1' });
const failed = event('boot.failed', { bootId: newId(), step: 'hook warm', message: 'It ended with 7.' });

const statusOf = async () =>
  (await db.selectFrom('warm_pool_workspace').selectAll().where('id', '=', workspaceId).executeTakeFirst())
    ?.status;

test('a ready workspace is claimed although a report of its engine is just being taken', async () => {
  await db
    .updateTable('warm_pool_workspace')
    .set({ status: 'ready' })
    .where('id', '=', workspaceId)
    .execute();
  const taking = await open((tx) => take(tx, [started]));
  const replicaId = await insertReplica(db, { organizationId, state: 'preparing' });
  const claim = createClaim({ sandboxes, tierOf, now });
  const claiming = transact(db, (tx) => claim(tx, { organizationId, environmentId, replicaId, size: null }));
  await untilSomebodyWaits();
  await taking.commit();
  expect(await claiming).toMatchObject({ sandboxId: sandbox.id });
  expect(await statusOf()).toBe('assigned');
});

test('a report is taken although the workspace is held by who reaches for the sandbox', async () => {
  const holding = await open((tx) => lockWorkspace(tx, workspaceId));
  const taking = await open((tx) => take(tx, [started, failed]));
  await taking.commit();
  await holding.commit();
  const { rows } = await sql<{ payload: unknown }>`select payload from graphile_worker._private_jobs
    where key = ${`warm_pool.work:${workspaceId}`}`.execute(db);
  expect(rows).toEqual([{ payload: { workspace_id: workspaceId, built: { failure: 'It ended with 7.' } } }]);
});

test('whoever ends a workspace waits for the pool before holding the workspace', async () => {
  const holding = await open((tx) => lockPool(tx, poolId));
  const ending = transact(db, (tx) =>
    workspaces.end(tx, workspaceId, { status: 'failed', message: 'It broke.' }),
  );
  await untilSomebodyWaits();
  const other = await open((tx) => lockWorkspace(tx, workspaceId));
  await other.commit();
  await holding.commit();
  await ending;
  expect(await statusOf()).toBe('failed');
});

test('whoever looks after a pool waits for its environment before holding the pool', async () => {
  const holding = await open((tx) =>
    tx.selectFrom('environment').select('id').where('id', '=', environmentId).forUpdate().execute(),
  );
  const reconciling = transact(db, (tx) => workspaces.reconcile(tx, poolId));
  await untilSomebodyWaits();
  const changing = await open((tx) =>
    tx.updateTable('warm_pool').set({ generation: 2 }).where('id', '=', poolId).execute(),
  );
  await changing.commit();
  await holding.commit();
  await reconciling;
  expect(await statusOf()).toBe('expired');
});
