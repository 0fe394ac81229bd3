import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { type Db, openDatabase } from '../src/db/database.ts';
import { startEmbeddedPostgres } from '../src/db/embedded/start.ts';
import { newId } from '../src/lib/ids.ts';
import { parseKeyRing } from '../src/secret/key-ring.ts';
import { createSealer, type Sealer } from '../src/secret/seal.ts';
import { sealedContext } from '../src/secret/sealed-columns.ts';
import { newsOfTurn, webhookBody } from '../src/webhook/event.ts';
import { freePort, startProgram } from './processes.ts';
import type { TableRow } from './table.ts';

const REPLICAS = 256;
const EVENTS_EACH = 40;
const LIMIT_MS = 120_000;

const note = `${REPLICAS} replicas with ${EVENTS_EACH} signed events each, delivered by one process to a receiver on the same machine that answers at once; each delivery is noted in the database before the next one of its replica begins.`;

/** How many events leave the service in a second, when they go to one receiver and when they go to many. */
export async function measureDeliveries(): Promise<TableRow[]> {
  await using cleanup = new AsyncDisposableStack();
  const folder = mkdtempSync(path.join(tmpdir(), 'replica-bench-'));
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }));
  const server = await startEmbeddedPostgres({ dataDir: path.join(folder, 'database') });
  cleanup.defer(() => server.stop());
  const secretKey = randomBytes(32).toString('base64');
  const port = await freePort();
  const service = await startProgram({
    args: ['src/cli/main.ts', 'serve'],
    environment: {
      DATABASE_URL: server.connectionString,
      REPLICA_DATA_DIR: path.join(folder, 'service'),
      REPLICA_PORT: String(port),
      REPLICA_RUNTIME: 'fake',
      REPLICA_SECRET_KEY: secretKey,
      REPLICA_ALLOW_PRIVATE_TARGETS: 'true',
      REPLICA_LOG_LEVEL: 'warn',
    },
    readyUrl: `http://127.0.0.1:${port}/readyz`,
  });
  cleanup.defer(() => service.stop());
  const receiver = await startReceiver();
  cleanup.defer(() => receiver.close());
  const log = pino({ level: 'silent' });
  const { db, close } = openDatabase({ url: server.connectionString, poolSize: 2, log });
  cleanup.defer(close);
  const stage = { db, sealer: createSealer(parseKeyRing(secretKey)), receiver };

  // The first round warms the service and does not count.
  await measureRound(stage, 1);
  const rows: TableRow[] = [];
  for (const receivers of [1, 64]) {
    const perSecond = await measureRound(stage, receivers);
    const whom = receivers === 1 ? 'one receiver' : `${receivers} receivers`;
    rows.push({ what: `deliveries to ${whom}`, measured: `${perSecond.toFixed(0)} /s`, note });
  }
  return rows;
}

type Stage = { db: Db; sealer: Sealer; receiver: Awaited<ReturnType<typeof startReceiver>> };

async function measureRound({ db, sealer, receiver }: Stage, receivers: number): Promise<number> {
  const before = receiver.count();
  const expected = before + REPLICAS * EVENTS_EACH;
  const replicas = await insertReplicas(db, sealer, (n) => receiver.url(n % receivers));
  await insertDeliveries(db, replicas);
  const giveUpAt = performance.now() + LIMIT_MS;
  while (receiver.count() < expected) {
    if (performance.now() > giveUpAt)
      throw new Error(`only ${receiver.count() - before} of ${expected - before} deliveries arrived`);
    await delay(10);
  }
  const { firstMs, lastMs } = receiver.takeTimes();
  return (expected - before) / ((lastMs - firstMs) / 1_000);
}

/** Every address of the loopback network is a receiver of its own to the service. */
async function startReceiver() {
  let count = 0;
  let firstMs: number | null = null;
  let lastMs = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      count += 1;
      lastMs = performance.now();
      firstMs ??= lastMs;
      response.writeHead(204).end();
    });
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    count: () => count,
    url: (n: number) => `http://127.0.1.${n + 1}:${port}/`,
    /** When the first and the last delivery came since this was asked for last. */
    takeTimes() {
      const times = { firstMs: firstMs ?? lastMs, lastMs };
      firstMs = null;
      return times;
    },
    async close(): Promise<void> {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

type Replica = { id: string; organizationId: string; url: string };

async function insertReplicas(db: Db, sealer: Sealer, urlOf: (n: number) => string): Promise<Replica[]> {
  const hostId = newId();
  await db.insertInto('runtime_host').values({ id: hostId, seen_at: '2100-01-01' }).execute();
  const at = new Date();
  const replicas: Replica[] = [];
  for (let n = 0; n < REPLICAS; n++) {
    // Several organizations: none of them may have all the room.
    const organizationId = replicas[n - (n % 32)]?.organizationId ?? newId();
    if (n % 32 === 0)
      await db
        .insertInto('organization')
        .values({ id: organizationId, name: 'Bench', slug: organizationId })
        .execute();
    const [id, url] = [newId(), urlOf(n)];
    await db
      .insertInto('replica')
      .values({
        id,
        organization_id: organizationId,
        name: 'bench',
        source: 'api',
        state: 'sleeping',
        incarnation: 1,
        coding_agent: 'claude',
        lifecycle_policy: 'default',
        host_id: hostId,
        webhook_url: url,
        webhook_secret: sealer.seal('secret', sealedContext('replica', 'webhook_secret', id)),
        progress_at: at,
        created_at: at,
        updated_at: at,
      })
      .execute();
    replicas.push({ id, organizationId, url });
  }
  return replicas;
}

/** All at once, so that what is measured is how fast they leave. */
async function insertDeliveries(db: Db, replicas: readonly Replica[]): Promise<void> {
  const at = new Date();
  await db.transaction().execute(async (tx) => {
    for (const { id: replicaId, organizationId, url } of replicas) {
      const ids = Array.from({ length: EVENTS_EACH }, () => newId());
      const of = { organization_id: organizationId, replica_id: replicaId, created_at: at };
      const replica = {
        id: replicaId,
        name: 'bench',
        state: 'sleeping',
        source: 'api',
        created_at: at,
      } as const;
      const news = newsOfTurn({ repository_statuses: [], pr_urls: [] });
      await tx
        .insertInto('webhook_event')
        .values(
          ids.map((id) => ({ ...of, id, type: news.type, body: webhookBody({ id, at, replica, news }) })),
        )
        .execute();
      const { origin } = new URL(url);
      await tx
        .insertInto('webhook_delivery')
        .values(
          ids.map((id, index) => ({
            ...of,
            id: newId(),
            webhook_event_id: id,
            url,
            origin,
            due_at: index === 0 ? at : null,
          })),
        )
        .execute();
    }
  });
}
