import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startWebhookReceiver, type WebhookReceiver } from '../world/webhook-receiver.ts';
import { until } from '../world/world.ts';
import { type CourierStage, openCourierStage } from './courier-stage.ts';

let stage: CourierStage;
let organizationId: string;
let receiver: WebhookReceiver;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  stage = await openCourierStage();
});
beforeEach(async () => {
  await stage.db.deleteFrom('webhook_event').execute();
  organizationId = await stage.organization();
  receiver = await startWebhookReceiver();
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await receiver.close();
});
afterAll(() => stage?.close());

/** However slow the machine is, nothing takes too long. */
const patient = { limitMs: 60_000, leaseMs: 90_000 };

async function startCouriers(count: number, times = {}): Promise<void> {
  for (let n = 0; n < count; n++) stops.push(await stage.startCourier(times));
}

/** Makes replicas that tell a path of the receiver each, and lets so many turns end in each of them. */
async function tellMany(replicas: number, turns: number, to = receiver): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < replicas; n++) ids.push(await stage.replica(organizationId, to.url(`/${n}`)));
  await Promise.all(ids.map((id) => stage.tell(id, turns)));
  return ids;
}

const allDelivered = () =>
  until(async () => (await stage.deliveries()).every(({ state }) => state === 'delivered'));

test('several couriers deliver every event once, and those of a replica in order', async () => {
  const ids = await tellMany(12, 10);
  await startCouriers(3, patient);
  await allDelivered();
  expect(receiver.all).toHaveLength(120);
  for (const [n, id] of ids.entries()) {
    expect(receiver.at(`/${n}`).map(({ eventId }) => eventId)).toEqual(await stage.eventsOf(id));
  }
  const attempts = await stage.db.selectFrom('webhook_attempt').select(['number', 'status']).execute();
  expect(attempts).toEqual(Array(120).fill({ number: 1, status: 204 }));
});

test('a receiver that never answers has eight attempts on its way, and holds up nobody', async () => {
  const silent = await startWebhookReceiver();
  try {
    for (let n = 0; n < 30; n++) silent.behave(`/${n}`, () => {});
    await tellMany(30, 3, silent);
    await startCouriers(1, patient);
    await until(() => silent.all.length === 8);
    const id = await stage.replica(organizationId, receiver.url('/'));
    await stage.tell(id, 20);
    await until(() => receiver.all.length === 20);
    expect(receiver.all.map(({ eventId }) => eventId)).toEqual(await stage.eventsOf(id));
    expect(silent.all).toHaveLength(8);
  } finally {
    for (const stop of stops.splice(0)) await stop();
    await silent.close();
  }
});

test('a courier that stops gives back what it could not finish, and another one delivers it at once', async () => {
  receiver.behave('/0', (response, _received, times) => {
    if (times > 1) response.writeHead(200).end();
  });
  await tellMany(1, 2);
  const stop = await stage.startCourier(patient);
  await until(() => receiver.all.length === 1);
  await stop();
  expect(await stage.deliveries()).toMatchObject([
    { state: 'pending', attempts: 0 },
    { state: 'pending', attempts: 0 },
  ]);
  await startCouriers(1);
  await allDelivered();
  const [first, again, second] = receiver.all;
  expect(again).toMatchObject({ eventId: first?.eventId, deliveryId: first?.deliveryId });
  expect(second?.eventId).not.toBe(first?.eventId);
  expect(receiver.all).toHaveLength(3);
});

test('what is on its way when the service stops may still arrive, and is noted', async () => {
  let answer = () => {};
  receiver.behave('/0', (response) => {
    answer = () => void response.writeHead(200).end();
  });
  await tellMany(1, 1);
  const stop = await stage.startCourier({ graceMs: 5_000, limitMs: 10_000 });
  await until(() => receiver.all.length === 1);
  const stopped = stop();
  answer();
  await stopped;
  expect(await stage.deliveries()).toMatchObject([{ state: 'delivered', attempts: 1 }]);
});

test('a round that has to wait for the database takes what is due for the whole of the lease', async () => {
  const leaseMs = 1_500;
  const answers: (() => void)[] = [];
  for (const path of ['/0', '/1'])
    receiver.behave(path, (response) => void answers.push(() => response.writeHead(200).end()));
  const [first = ''] = await tellMany(1, 1);
  const late = await stage.replica(organizationId, receiver.url('/1'));
  await startCouriers(1, { leaseMs, limitMs: 10_000, lookMs: 60_000 });
  await until(() => receiver.all.length === 1, { intervalMs: 5 });
  await stage.tell(late);
  const holder = await stage.pool.connect();
  try {
    await holder.query('begin');
    await holder.query('select from webhook_delivery where replica_id = $1 for update', [first]);
    answers.shift()?.();
    const heldAt = Date.now();
    await until(() => Date.now() > heldAt + leaseMs);
    await holder.query('commit');
  } finally {
    holder.release();
  }
  await until(() => receiver.at('/1').length === 1, { intervalMs: 5 });
  const [, taken] = await stage.deliveries();
  expect(taken?.due_at?.getTime()).toBeGreaterThan(Date.now());
  answers.shift()?.();
  await allDelivered();
});

test('lost connections to the database cost nothing but time', async () => {
  receiver.behave('/0', (response) => void setTimeout(() => response.writeHead(200).end(), 30));
  const [id = ''] = await tellMany(1, 10);
  await startCouriers(1);
  for (const count of [1, 3, 6]) {
    await until(() => receiver.all.length >= count);
    await stage.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
  }
  await allDelivered();
  const order = receiver.all.map(({ eventId }) => eventId);
  // Something may come twice in a row, but nothing is left out and nothing overtakes.
  expect(order.filter((eventId, index) => eventId !== order[index - 1])).toEqual(await stage.eventsOf(id));
});
