import pg from 'pg';
import { pino } from 'pino';
import type { Trigger } from '../../src/contract/automation.ts';
import { gitEventOperations } from '../../src/contract/git-event.ts';
import { openDatabase } from '../../src/db/database.ts';
import { gitEventHandlers } from '../../src/git-event/handlers.ts';
import { createAdmit } from '../../src/http/admit.ts';
import { type AppParts, createApp } from '../../src/http/app.ts';
import { createTokenBuckets } from '../../src/http/token-bucket.ts';
import { newId } from '../../src/lib/ids.ts';
import { startWorkers } from '../../src/work/runner.ts';
import { createDatabase } from '../world/database.ts';
import { createEventParts } from './event-parts.ts';

export type EventStage = Awaited<ReturnType<typeof startEventStage>>;

const log = pino({ level: 'silent' });
const now = () => new Date();

/** The part of the service that takes events, as far as executions: no run begins. */
export async function startEventStage() {
  await using starting = new AsyncDisposableStack();
  const made = await createDatabase();
  starting.defer(() => made.drop());
  const database = openDatabase({ url: made.url, poolSize: 16, log });
  starting.defer(() => database.close());
  const { db } = database;

  const { sealer, hosts, gitEvents, listen, tasksFor } = createEventParts(db, now);
  const handlers = gitEventHandlers(gitEvents) as unknown as AppParts['handlers'];
  const buckets = createTokenBuckets({ capacity: 1e9, refillPerSecond: 1, maxEntries: 10 });
  const admit = createAdmit({ authenticate: async () => null, buckets, now: () => performance.now() });
  const app = createApp({
    db,
    sealer,
    log,
    operations: gitEventOperations,
    handlers,
    bodyLimitBytes: 1_000_000,
    trustedProxies: [],
    admit,
  });
  starting.defer(() => app.close());
  const everything = starting.move();

  return {
    url: made.url,
    app,
    db,
    pool: database.pool,
    tasksFor,
    /** Hands on what comes, as one process does it, until it is stopped. */
    async startProcess() {
      const queue = new pg.Pool({ connectionString: made.url, max: 7 });
      const tasks = tasksFor([listen]);
      const workers = await startWorkers({ pool: queue, log, tasks, concurrency: 4, sweepIntervalMs: 200 });
      return async () => {
        await workers.stop();
        await queue.end();
      };
    },
    async organization(setting: { host: string; secret: string }) {
      const id = newId();
      await db.insertInto('organization').values({ id, name: 'Test', slug: id }).execute();
      const caller = {
        organizationId: id,
        kind: 'org_key',
        keyId: id,
        personId: null,
        role: 'admin',
      } as const;
      const apiUrl = `https://${setting.host}/api`;
      await hosts.set(db, caller, { ...setting, kind: 'github', apiUrl, webhookSecret: setting.secret });
      return id;
    },
    async repository(organizationId: string, url: string) {
      const id = newId();
      const row = { id, organization_id: organizationId, name: id, url, url_key: url, status: 'ready' };
      await db
        .insertInto('repository')
        .values({ ...row, created_at: now(), updated_at: now() })
        .execute();
      return id;
    },
    async automation(organizationId: string, more: { triggers: Trigger[]; enabled?: boolean }) {
      const id = newId();
      const environmentId = newId();
      const at = { created_at: now(), updated_at: now() };
      const environment = { id: environmentId, organization_id: organizationId, name: environmentId };
      await db
        .insertInto('environment')
        .values({ ...environment, ...at })
        .execute();
      const row = { id, organization_id: organizationId, environment_id: environmentId, name: id, ...at };
      const triggers = JSON.stringify(more.triggers);
      await db
        .insertInto('automation')
        .values({ ...row, ...more, triggers })
        .execute();
      return id;
    },
    close: () => everything.disposeAsync(),
  };
}
