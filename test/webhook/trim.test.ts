import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { purge } from '../../src/replica/purge.ts';
import { webhookTasks } from '../../src/webhook/worker.ts';
import { type CourierStage, openCourierStage } from './courier-stage.ts';

let stage: CourierStage;
beforeAll(async () => {
  stage = await openCourierStage();
});
afterAll(() => stage?.close());

const never = new AbortController().signal;
const day = 86_400_000;

async function trim(at: Date): Promise<void> {
  const [task] = webhookTasks({ db: stage.db, now: () => at });
  await task?.run({}, { signal: never, attempt: 1, maxAttempts: 1, log: pino({ level: 'silent' }) });
}

test('after 30 days events go unless they wait, and with the last one what is known of the receiver', async () => {
  const { db } = stage;
  const organizationId = await stage.organization();
  const [kept, deleted] = [
    await stage.replica(organizationId, 'https://a.example/'),
    await stage.replica(organizationId, 'https://b.example/'),
  ];
  for (const id of [kept, deleted]) await stage.tell(id, 3);
  await db.updateTable('webhook_delivery').set({ state: 'failed' }).where('replica_id', '=', kept).execute();
  const [waiting = ''] = await stage.eventsOf(deleted);
  await db
    .updateTable('webhook_delivery')
    .set({ state: 'delivered' })
    .where('replica_id', '=', deleted)
    .where('webhook_event_id', '!=', waiting)
    .execute();
  await db
    .updateTable('replica')
    .set({ state: 'deleted', deleted_at: new Date(), webhook_secret: Buffer.from('sealed') })
    .where('id', '=', deleted)
    .execute();
  const receiverOf = (id: string) =>
    db
      .selectFrom('replica')
      .select(['webhook_url', 'webhook_secret'])
      .where('id', '=', id)
      .executeTakeFirst();
  const known = { webhook_url: 'https://b.example/', webhook_secret: Buffer.from('sealed') };

  await purge(db, deleted, never);
  await trim(new Date(Date.now() + 29 * day));
  expect([await stage.eventsOf(kept), await stage.eventsOf(deleted)]).toMatchObject([
    { length: 3 },
    { length: 3 },
  ]);
  expect(await receiverOf(deleted)).toEqual(known);

  await trim(new Date(Date.now() + 31 * day));
  expect([await stage.eventsOf(kept), await stage.eventsOf(deleted)]).toEqual([[], [waiting]]);
  expect(await receiverOf(deleted)).toEqual(known);

  await db
    .updateTable('webhook_delivery')
    .set({ state: 'failed' })
    .where('replica_id', '=', deleted)
    .execute();
  await trim(new Date(Date.now() + 31 * day));
  expect(await stage.eventsOf(deleted)).toEqual([]);
  expect(await receiverOf(deleted)).toEqual({ webhook_url: null, webhook_secret: null });
  expect(await receiverOf(kept)).toMatchObject({ webhook_url: 'https://a.example/' });
});
