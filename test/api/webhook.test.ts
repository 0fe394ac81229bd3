import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { verifyWebhook } from '../../src/client/client.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { shortTimes } from '../webhook/short-times.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../world/webhook-receiver.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

let world: World;
let driver: FakeDriver;
let receiver: WebhookReceiver;
let org: Organization;
let environment_id: string;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  world = await startWorld({
    environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' },
    replaced: {
      webhookTimes: shortTimes,
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return driver;
      },
    },
  });
});
beforeEach(async () => {
  org = await world.org();
  environment_id = (await org.call('POST', '/v1/environments', { name: 'web' })).body.environment.id;
});
afterAll(async () => {
  await world?.close();
  await receiver?.close();
});

let paths = 0;
const newPath = () => `/hooks/${++paths}`;

async function create(webhook_url: unknown, body: object = {}): Promise<string> {
  const wanted = { name: 'told', message: 'Hello', environment_id, webhook_url, ...body };
  const made = await org.call('POST', '/v1/replica', wanted, { 'x-service-api-version': '2026-05-17' });
  expect(made.status).toBe(201);
  return made.body.replica.id;
}

const arrived = (path: string, count: number) =>
  until(() => (receiver.at(path).length >= count ? receiver.at(path) : null)).then((found) => found ?? []);
const typesAt = (path: string) => receiver.at(path).map(({ headers }) => headers['x-service-event']);

async function deliveriesOf(id: string, query = '') {
  return (await org.call('GET', `/v1/replica/${id}/deliveries${query}`)).body;
}

/** The deliveries of a replica, oldest first, once none waits. */
async function endedOf(id: string, count: number) {
  const ended = await until(async () => {
    const { deliveries } = await deliveriesOf(id, '?limit=100');
    const isEnded = ({ state }: { state: string }) => state !== 'pending';
    return deliveries.length >= count && deliveries.every(isEnded) ? deliveries : null;
  });
  return ended.toReversed();
}

describe('what is told', () => {
  test('the life of a replica arrives in order, with exact headers, and signed', async () => {
    const path = newPath();
    const id = await create({ url: receiver.url(path), secret: 'geheim-é' });
    await arrived(path, 2);
    await org.call('DELETE', `/v1/replica/${id}`);
    const all = await arrived(path, 3);
    expect(typesAt(path)).toEqual(['replica.ready', 'replica.turn_completed', 'replica.deleted']);
    for (const { headers, body } of all) {
      const { id: eventId, type } = JSON.parse(body.toString());
      const sign = (text: string) => createHmac('sha256', 'geheim-é').update(text).update(body).digest('hex');
      const timestamp = String(headers['x-service-timestamp']);
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'content-length': String(body.length),
        'user-agent': 'replica-service',
        'x-service-event': type,
        'x-service-event-id': eventId,
        'x-service-delivery': expect.stringMatching(/^[0-9a-f-]{36}$/),
        'x-service-replica-id': id,
        'x-service-signature': `sha256=${sign('')}`,
        'x-service-signature-v2': `t=${timestamp},v1=${sign(`${timestamp}.`)}`,
      });
      expect(Math.abs(Date.now() / 1000 - Number(timestamp))).toBeLessThan(30);
      expect(headers).not.toHaveProperty('authorization');
      const verified = { body, headers, secret: 'geheim-é' };
      expect(verifyWebhook(verified)).toEqual(JSON.parse(body.toString()));
      expect(verifyWebhook({ ...verified, toleranceSeconds: null })).toEqual(verifyWebhook(verified));
    }
    expect(new Set(all.map(({ eventId }) => eventId)).size).toBe(3);
    const created_at = expect.stringMatching(/^\d{4}-.*Z$/);
    const replica = { id, name: 'told', source: 'api', created_at };
    expect(all.map(({ body }) => JSON.parse(body.toString()))).toStrictEqual([
      {
        id: all[0]?.eventId,
        type: 'replica.ready',
        created_at,
        replica: { ...replica, status: 'active' },
        data: {},
      },
      {
        id: all[1]?.eventId,
        type: 'replica.turn_completed',
        created_at,
        replica: { ...replica, status: 'active' },
        data: { repository_statuses: [], pr_urls: [] },
      },
      {
        id: all[2]?.eventId,
        type: 'replica.deleted',
        created_at,
        replica: { ...replica, status: 'deleted' },
        data: {},
      },
    ]);
  });

  test('nothing is signed without a secret, and the address may stand alone', async () => {
    const path = `${newPath()}?token=a%20b`;
    await create(receiver.url(path));
    const [ready] = await arrived(path, 1);
    expect(ready?.headers).not.toHaveProperty('x-service-signature');
    expect(ready?.headers).not.toHaveProperty('x-service-signature-v2');
    expect(ready?.headers['x-service-timestamp']).toMatch(/^\d+$/);
  });

  test('waking is told like the first start', async () => {
    const path = newPath();
    const id = await create(receiver.url(path));
    await arrived(path, 2);
    await org.call('POST', `/v1/workspaces/${id}/sleep`);
    await until(
      async () => (await org.call('GET', `/v1/replica/${id}?wake=false`)).body.replica.status === 'sleeping',
    );
    await org.call('POST', `/v1/replica/${id}/messages`, { message: 'again' });
    await arrived(path, 4);
    expect(typesAt(path).slice(2)).toEqual(['replica.ready', 'replica.turn_completed']);
  });

  test('a replica that cannot be started tells why', async () => {
    const path = newPath();
    driver.failNext('create', new Error('no disk'));
    driver.failNext('create', new Error('no disk'));
    const id = await create(receiver.url(path));
    const counted = world.db.updateTable('replica').set({ attempts: 9 }).where('id', '=', id);
    await until(async () => (await counted.where('attempts', '>', 0).executeTakeFirst()).numUpdatedRows > 0n);
    await arrived(path, 1);
    const [failed] = receiver.at(path);
    const { type, replica, data } = JSON.parse(String(failed?.body));
    expect({ type, status: replica.status }).toEqual({ type: 'replica.error', status: 'error' });
    const read = (await org.call('GET', `/v1/replica/${id}`)).body.replica;
    expect(data).toStrictEqual({ message: read.config.provisioning_error.message });
  });
});

describe('attempts', () => {
  test('a receiver in trouble is asked three times more, with the same delivery, and then given up', async () => {
    const path = newPath();
    receiver.behave(path, (response) => response.writeHead(503).end('sorry'));
    const id = await create(receiver.url(path));
    const [ready] = await endedOf(id, 2);
    expect(ready).toMatchObject({ event_type: 'replica.ready', state: 'failed', next_attempt_at: null });
    expect(
      ready.attempts.map(({ number, status }: { number: number; status: number }) => [number, status]),
    ).toEqual([
      [1, 503],
      [2, 503],
      [3, 503],
      [4, 503],
    ]);
    const tries = receiver.at(path).filter(({ eventId }) => eventId === ready.event_id);
    expect(tries).toHaveLength(4);
    expect(new Set(tries.map(({ deliveryId }) => deliveryId))).toEqual(new Set([ready.id]));
    expect(new Set(tries.map(({ body }) => body.toString())).size).toBe(1);
    const pauses = tries.slice(1).map(({ atMs }, index) => atMs - (tries[index]?.atMs ?? 0));
    for (const [index, pause] of pauses.entries())
      expect(pause).toBeGreaterThanOrEqual(shortTimes.backOffMs[index] ?? 0);
  });

  test('what comes later waits until what came first has ended, and nothing is left out', async () => {
    const path = newPath();
    receiver.behave(path, (response, _received, times) => response.writeHead(times <= 3 ? 500 : 200).end());
    const id = await create(receiver.url(path));
    for (const message of ['two', 'three']) await org.call('POST', `/v1/replica/${id}/messages`, { message });
    const deliveries = await endedOf(id, 4);
    const expected = deliveries.map(({ event_id }: { event_id: string }) => event_id);
    const order = receiver.at(path).map(({ eventId }) => eventId);
    expect(order).toEqual([expected[0], expected[0], expected[0], ...expected]);
    expect(typesAt(path).slice(3)).toEqual(['replica.ready', ...Array(3).fill('replica.turn_completed')]);
  });

  test.each([400, 410, 302])('%i is the last word', async (status) => {
    const path = newPath();
    const elsewhere = newPath();
    receiver.behave(path, (response) =>
      response.writeHead(status, { location: receiver.url(elsewhere) }).end(),
    );
    const id = await create(receiver.url(path));
    const [ready] = await endedOf(id, 2);
    expect(ready).toMatchObject({ state: 'failed', attempts: [{ number: 1, status }] });
    expect(receiver.at(elsewhere)).toEqual([]);
    const { total } = await deliveriesOf(id, '?state=failed');
    expect(total).toBe(2);
  });

  test('Retry-After puts the next attempt off', async () => {
    const path = newPath();
    receiver.behave(path, (response, _received, times) =>
      response.writeHead(times === 1 ? 429 : 200, { 'retry-after': '1' }).end(),
    );
    const id = await create(receiver.url(path));
    const [ready] = await endedOf(id, 2);
    expect(ready).toMatchObject({ state: 'delivered', attempts: [{ status: 429 }, { status: 200 }] });
    const [first, second] = receiver.at(path);
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(990);
  });

  test('who does not answer, hangs up or is not there counts as a network error', async () => {
    const path = newPath();
    receiver.behave(path, (response, _received, times) => {
      if (times === 2) response.destroy();
      if (times === 3) response.writeHead(204).end();
    });
    const id = await create(receiver.url(path));
    const [ready] = await endedOf(id, 2);
    expect(ready.attempts).toMatchObject([
      { status: null, error: 'The receiver did not answer within 0.4 seconds.' },
      { status: null, error: expect.stringMatching(/^The connection failed: \w+\.$/) },
      { status: 204, error: null },
    ]);
    const nobody = await create('http://127.0.0.1:1/');
    const [lost] = await endedOf(nobody, 2);
    expect(lost.state).toBe('failed');
    expect(lost.attempts).toHaveLength(4);
    expect(lost.attempts[0].error).toBe('The connection failed: ECONNREFUSED.');
  });

  test('an answer counts from its status, however long its body is', async () => {
    const path = newPath();
    receiver.behave(path, (response, _received, times) => {
      response.writeHead(200);
      if (times === 1) response.write('x');
      else response.end(Buffer.alloc(3_000_000));
    });
    const id = await create(receiver.url(path));
    const deliveries = await endedOf(id, 2);
    expect(deliveries).toMatchObject([
      { state: 'delivered', attempts: [{ status: 200 }] },
      { state: 'delivered', attempts: [{ status: 200 }] },
    ]);
  });
});

describe('deliveries', () => {
  test('are listed newest first, in pages and by state, also when the replica is deleted', async () => {
    const path = newPath();
    const id = await create(receiver.url(path));
    await arrived(path, 2);
    await org.call('DELETE', `/v1/replica/${id}`);
    await endedOf(id, 3);
    const first = await deliveriesOf(id, '?limit=2');
    expect(first).toMatchObject({ total: 3, page: 1, limit: 2, total_pages: 2 });
    expect(first.deliveries).toMatchObject([
      { event_type: 'replica.deleted', state: 'delivered', url: receiver.url(path), is_redelivery: false },
      { event_type: 'replica.turn_completed' },
    ]);
    expect((await deliveriesOf(id, '?limit=2&page=2')).deliveries).toMatchObject([
      { event_type: 'replica.ready' },
    ]);
    expect(await deliveriesOf(id, '?state=pending')).toMatchObject({
      total: 0,
      deliveries: [],
      total_pages: 0,
    });
    const silent = await create(undefined);
    expect(await deliveriesOf(silent)).toMatchObject({ total: 0, deliveries: [] });
  });

  test('are repeated on demand: a new delivery of the same event, signed anew, also of a deleted replica', async () => {
    const path = newPath();
    receiver.behave(path, (response) => response.writeHead(400).end());
    const id = await create({ url: receiver.url(path), secret: 's' });
    await arrived(path, 2);
    await org.call('DELETE', `/v1/replica/${id}`);
    const [ready] = await endedOf(id, 3);
    receiver.behave(path, (response) => response.writeHead(200).end());
    const again = await org.call('POST', `/v1/replica/${id}/deliveries/${ready.id}/redeliver`);
    expect(again.status).toBe(202);
    expect(again.body.delivery).toMatchObject({
      event_id: ready.event_id,
      state: 'pending',
      is_redelivery: true,
      attempts: [],
    });
    expect(again.body.delivery.id).not.toBe(ready.id);
    const all = await arrived(path, 4);
    expect(all[3]).toMatchObject({
      eventId: ready.event_id,
      deliveryId: again.body.delivery.id,
      body: all[0]?.body,
    });
    verifyWebhook({ body: all[3]?.body ?? '', headers: all[3]?.headers ?? {}, secret: 's' });
    expect((await endedOf(id, 4)).at(-1)).toMatchObject({ state: 'delivered', is_redelivery: true });
  });

  test('are not repeated while the event still waits', async () => {
    const path = newPath();
    receiver.behave(path, (response) => response.writeHead(429, { 'retry-after': '60' }).end());
    const id = await create(receiver.url(path));
    await arrived(path, 1);
    const isPutOff = ({ next_attempt_at }: { next_attempt_at: string | null }) =>
      Date.parse(next_attempt_at ?? '') > Date.now() + 50_000;
    const waiting = await until(async () => (await deliveriesOf(id)).deliveries.find(isPutOff));
    expect(waiting).toMatchObject({ state: 'pending', attempts: [{ number: 1, status: 429 }] });
    const refused = await org.call('POST', `/v1/replica/${id}/deliveries/${waiting.id}/redeliver`);
    expect(refused).toMatchObject({
      status: 409,
      body: { error: expect.stringMatching(/still being delivered/) },
    });
  });

  test('of others, and of other replicas, are not there', async () => {
    const path = newPath();
    const [id, otherId] = [await create(receiver.url(path)), await create(receiver.url(newPath()))];
    const [ready] = await endedOf(id, 2);
    const stranger = await world.org();
    const redeliver = `deliveries/${ready.id}/redeliver`;
    expect((await stranger.call('GET', `/v1/replica/${id}/deliveries`)).status).toBe(404);
    expect((await stranger.call('POST', `/v1/replica/${id}/${redeliver}`)).status).toBe(404);
    expect((await org.call('POST', `/v1/replica/${otherId}/${redeliver}`)).status).toBe(404);
    expect((await org.call('POST', `/v1/replica/${id}/deliveries/${id}/redeliver`)).status).toBe(404);
  });
});
