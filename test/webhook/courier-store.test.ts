import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  giveBack,
  letFollow,
  recordAttempts,
  selectNextDue,
  type TakenDelivery,
  takeDue,
} from '../../src/webhook/courier-store.ts';
import { type CourierStage, openCourierStage } from './courier-stage.ts';

let stage: CourierStage;
let organizationId: string;
beforeAll(async () => {
  stage = await openCourierStage();
});
beforeEach(async () => {
  await stage.db.deleteFrom('webhook_event').execute();
  organizationId = await stage.organization();
});
afterAll(() => stage?.close());

const start = Date.now() + 60_000;
const later = (ms: number) => new Date(start + ms);
const LEASE_MS = 1_000;

function take(ms: number, wanted: Partial<Parameters<typeof takeDue>[1]> = {}): Promise<TakenDelivery[]> {
  const usual = { room: 100, perOrigin: 8, perOrganization: 50, busy: [] };
  return takeDue(stage.db, { at: later(ms), leaseUntil: later(ms + LEASE_MS), ...usual, ...wanted });
}

function record(delivery: TakenDelivery, ms: number, state: 'delivered' | 'failed' | 'pending', dueMs = ms) {
  const attempt = {
    startedAt: later(ms),
    durationMs: 5,
    status: state === 'delivered' ? 200 : 503,
    error: null,
  };
  return recordAttempts(stage.db, [{ delivery, ...attempt, state, at: later(ms), dueAt: later(dueMs) }]);
}

/** Replicas of an organization, each with one event for its receiver. */
async function waiting(of: string, origins: readonly string[]): Promise<void> {
  for (const origin of origins) await stage.tell(await stage.replica(of, `${origin}/in`));
}
const repeated = (origin: string, times: number) => Array<string>(times).fill(origin);
const countBy = (taken: readonly TakenDelivery[], key: 'origin' | 'organization_id') =>
  Object.fromEntries(
    Map.groupBy(taken, (one) => one[key])
      .entries()
      .map(([name, some]) => [name, some.length]),
  );

test('of each receiver no more is taken than there is room for, whatever is on its way already', async () => {
  await waiting(organizationId, [...repeated('http://a.example', 12), ...repeated('http://b.example', 3)]);
  const first = await take(0);
  expect(countBy(first, 'origin')).toEqual({ 'http://a.example': 8, 'http://b.example': 3 });
  expect(await take(1, { busy: first })).toEqual([]);
  const six = first.filter(({ origin }) => origin === 'http://a.example').slice(0, 6);
  expect(countBy(await take(2, { busy: six }), 'origin')).toEqual({ 'http://a.example': 2 });
});

test('an organization with many receivers leaves room for others', async () => {
  const other = await stage.organization();
  await waiting(
    organizationId,
    Array.from({ length: 20 }, (_, n) => `http://r${n}.example`),
  );
  await waiting(other, ['http://z.example']);
  const taken = await take(0, { perOrganization: 6 });
  expect(countBy(taken, 'organization_id')).toEqual({ [organizationId]: 6, [other]: 1 });
  const busy = taken.filter(({ organization_id }) => organization_id === organizationId);
  expect(await take(1, { perOrganization: 6, busy })).toEqual([]);
  expect(await take(2, { perOrganization: 9, busy, room: 2 })).toHaveLength(2);
});

test('organizations with the same receiver do not hold up each other', async () => {
  const other = await stage.organization();
  await waiting(organizationId, repeated('http://a.example', 12));
  await waiting(other, repeated('http://a.example', 2));
  const taken = await take(0);
  expect(countBy(taken, 'organization_id')).toEqual({ [organizationId]: 8, [other]: 2 });
  expect(await take(1, { busy: taken })).toEqual([]);
});

test('whoever has the least on its way comes first, however long others have waited', async () => {
  const other = await stage.organization();
  await waiting(
    organizationId,
    Array.from({ length: 6 }, (_, n) => `http://r${n}.example`),
  );
  const busy = await take(0, { room: 3 });
  await waiting(other, ['http://y.example', 'http://z.example']);
  const taken = await take(1, { busy, room: 3 });
  expect(countBy(taken, 'organization_id')).toEqual({ [organizationId]: 1, [other]: 2 });
});

test('what is on its way is not taken once more by the same process, whatever the clock says', async () => {
  await waiting(organizationId, ['http://a.example']);
  const busy = await take(0);
  expect(busy).toHaveLength(1);
  expect(await take(10 * LEASE_MS, { busy })).toEqual([]);
  expect(await take(10 * LEASE_MS)).toHaveLength(1);
});

test('of a replica only the first delivery that waits is taken, the next one when it has ended', async () => {
  const id = await stage.replica(organizationId, 'http://a.example/');
  await stage.tell(id, 3);
  const events = await stage.eventsOf(id);
  const [first] = await take(0);
  expect(first?.event_id).toBe(events[0]);
  expect(await take(1)).toEqual([]);
  if (first) await record(first, 2, 'pending', 500);
  expect(await take(499)).toEqual([]);
  expect(await selectNextDue(stage.db, later(499))).toEqual(later(500));
  const [again] = await take(500);
  expect(again).toMatchObject({ id: first?.id, attempts: 1 });
  if (again) await record(again, 501, 'failed');
  expect(await take(502)).toMatchObject([{ event_id: events[1], attempts: 0 }]);
});

test('what a killed process has taken goes over to another one, and the late word of the first changes nothing', async () => {
  const id = await stage.replica(organizationId, 'http://a.example/');
  await stage.tell(id);
  const [lost] = await take(0);
  expect(await take(LEASE_MS - 1)).toEqual([]);
  const [taken] = await take(LEASE_MS);
  expect(taken).toMatchObject({ id: lost?.id, attempts: 0 });
  if (lost) await record(lost, LEASE_MS + 1, 'failed');
  if (lost) await giveBack(stage.db, { taken: [lost], at: later(0) });
  expect(await stage.deliveries()).toMatchObject([
    { state: 'pending', attempts: 0, due_at: later(2 * LEASE_MS) },
  ]);
  if (taken) await record(taken, LEASE_MS + 2, 'delivered');
  if (taken) await record(taken, LEASE_MS + 3, 'delivered');
  expect(await stage.deliveries()).toMatchObject([
    { state: 'delivered', attempts: 1, finished_at: later(LEASE_MS + 2) },
  ]);
  const attempts = await stage.db.selectFrom('webhook_attempt').selectAll().execute();
  expect(attempts).toMatchObject([{ webhook_delivery_id: taken?.id, number: 1, status: 200 }]);
});

test('a delivery that was added in the moment in which the one before it ended follows all the same', async () => {
  const id = await stage.replica(organizationId, 'http://a.example/');
  await stage.tell(id, 2);
  const [first] = await take(0);
  // As if the second one had not been there yet.
  const second = { webhook_event_id: (await stage.eventsOf(id))[1] ?? '' };
  const deliveries = stage.db.updateTable('webhook_delivery');
  if (first) await record(first, 1, 'delivered');
  await deliveries.set({ due_at: null }).where('webhook_event_id', '=', second.webhook_event_id).execute();
  expect(await take(2)).toEqual([]);
  await letFollow(stage.db, later(3));
  expect(await take(3)).toMatchObject([{ event_id: second.webhook_event_id }]);
  await letFollow(stage.db, later(4));
  expect(await take(4)).toEqual([]);
});

test('two who take at the same moment never get the same', async () => {
  await waiting(
    organizationId,
    Array.from({ length: 30 }, (_, n) => `http://r${n}.example`),
  );
  const rounds = await Promise.all(Array.from({ length: 4 }, () => take(0)));
  const ids = rounds.flat().map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length + (await take(1)).length).toBe(30);
});
