import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../world/database.ts';
import { ServiceFolder } from '../world/service-process.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../world/webhook-receiver.ts';
import { type ApiCall, caller, until } from '../world/world.ts';

const KILLS = 4;
const REPLICAS = 4;
/** Every so many requests the receiver is in trouble. */
const TROUBLE_EVERY = 7;

const everything = new AsyncDisposableStack();
let folder: ServiceFolder;
let pool: pg.Pool;
let receiver: WebhookReceiver;

beforeAll(async () => {
  const { url, drop } = await createDatabase();
  everything.defer(drop);
  pool = new pg.Pool({ connectionString: url, max: 1 });
  everything.defer(() => pool.end());
  receiver = await startWebhookReceiver();
  everything.defer(() => receiver.close());
  folder = await ServiceFolder.create(
    { DATABASE_URL: url, REPLICA_ALLOW_PRIVATE_TARGETS: 'true', REPLICA_RATE_LIMIT_BURST: '1000000' },
    path.join(import.meta.dirname, 'webhook-process.ts'),
  );
  everything.defer(() => folder.remove());
});
afterAll(() => everything.disposeAsync());

test(`${KILLS} times kill -9 in the middle of deliveries: every event arrives, in order, under the same ids`, async () => {
  let service = await folder.serve();
  const call = caller(folder.baseUrl, folder.bootstrap().api_key);
  const { environment } = (await call('POST', '/v1/environments', { name: 'web' })).body;
  const ids: string[] = [];
  for (let n = 0; n < REPLICAS; n++) {
    receiver.behave(`/${n}`, answerSlowly);
    const webhook_url = { url: receiver.url(`/${n}`), secret: 'secret' };
    const body = { name: `r${n}`, message: 'Hello', environment_id: environment.id, webhook_url };
    ids.push((await insist(call, '/v1/replica', body)).replica.id);
  }
  const stop = new AbortController();
  const talking = Promise.all(ids.map((id) => talk(call, id, stop.signal)));
  for (let kill = 0; kill < KILLS; kill++) {
    const before = receiver.all.length;
    await until(() => receiver.all.length >= before + 8, { timeoutMs: 30_000, intervalMs: 1 });
    await service.kill('SIGKILL');
    service = await folder.serve();
  }
  stop.abort();
  await talking;
  await until(async () => (await count("state = 'pending'")) === 0, { timeoutMs: 60_000, intervalMs: 100 });

  expect(await count("state <> 'delivered'")).toBe(0);
  for (const [n, id] of ids.entries()) {
    const told = await eventsOf(id);
    const arrived = receiver.at(`/${n}`);
    const order = arrived.map(({ eventId }) => eventId);
    expect(told.length).toBeGreaterThan(1);
    // What comes again comes before anything that is later, so that without repeats it is the order of what happened.
    expect(order.filter((eventId, index) => eventId !== order[index - 1])).toEqual(told);
    const deliveryOf = new Map(arrived.map(({ eventId, deliveryId }) => [eventId, deliveryId]));
    expect(arrived.filter(({ eventId, deliveryId }) => deliveryOf.get(eventId) !== deliveryId)).toEqual([]);
  }
}, 300_000);

function answerSlowly(response: Parameters<Parameters<WebhookReceiver['behave']>[1]>[0]): void {
  const status = receiver.all.length % TROUBLE_EVERY === 0 ? 503 : 204;
  setTimeout(() => response.writeHead(status).end(), 20);
}

/** Sends messages one after the other, each of which becomes a turn. */
async function talk(call: ApiCall, id: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await insist(call, `/v1/replica/${id}/messages`, { message: 'go on' });
    await delay(50);
  }
}

/** Sends until there is an answer; a repeat carries the same key, so it does nothing twice. */
async function insist(call: ApiCall, to: string, body: unknown) {
  const headers = { 'idempotency-key': randomUUID(), 'x-service-api-version': '2026-05-17' };
  for (;;) {
    const answer = await call('POST', to, body, headers).catch(() => null);
    if (answer && answer.status < 300) return answer.body;
    if (answer && answer.status < 500) throw new Error(`${to} answered ${JSON.stringify(answer.body)}`);
    await delay(20);
  }
}

async function count(condition: string): Promise<number> {
  const { rows } = await pool.query(`select count(*)::int as count from webhook_delivery where ${condition}`);
  return rows[0]?.count;
}

async function eventsOf(replicaId: string): Promise<string[]> {
  const { rows } = await pool.query(
    'select webhook_event_id as id from webhook_delivery where replica_id = $1 order by seq',
    [replicaId],
  );
  return rows.map(({ id }) => id);
}
