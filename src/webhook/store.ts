import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { WebhookAttempt, WebhookDelivery, WebhookEvent } from '../db/schema.ts';

export type AttemptRow = Selectable<WebhookAttempt>;
/** A delivery with what its event is. */
export type DeliveryRow = Selectable<WebhookDelivery> & { event_type: string };
export type DeliveryState = 'pending' | 'delivered' | 'failed';

export async function insertEvent(db: Db, row: Insertable<WebhookEvent>): Promise<void> {
  await db.insertInto('webhook_event').values(row).execute();
}

/** Adds a delivery after those of its replica; it is due at once when none of them waits. The replica is held. */
export async function insertDelivery(
  db: Db,
  row: Omit<Insertable<WebhookDelivery>, 'due_at' | 'created_at'> & { created_at: Date },
): Promise<void> {
  const due_at = sql<Date | null>`
    case when exists (select from webhook_delivery where replica_id = ${row.replica_id} and state = 'pending')
         then null else ${row.created_at}::timestamptz end`;
  await db
    .insertInto('webhook_delivery')
    .values({ ...row, due_at })
    .execute();
}

export async function selectDelivery(
  db: Db,
  { replicaId, id }: { replicaId: string; id: string },
): Promise<DeliveryRow | undefined> {
  return withEvents(db)
    .where('webhook_delivery.replica_id', '=', replicaId)
    .where('webhook_delivery.id', '=', id)
    .executeTakeFirst();
}

export async function isEventWaiting(db: Db, eventId: string): Promise<boolean> {
  const waiting = await db
    .selectFrom('webhook_delivery')
    .select('id')
    .where('webhook_event_id', '=', eventId)
    .where('state', '=', 'pending')
    .limit(1)
    .executeTakeFirst();
  return waiting !== undefined;
}

type Filter = { replicaId: string; state: DeliveryState | undefined; limit: number; offset: number };

/** The latest first. */
export async function selectDeliveries(
  db: Db,
  { replicaId, state, limit, offset }: Filter,
): Promise<{ rows: DeliveryRow[]; total: number }> {
  let rows = withEvents(db).where('webhook_delivery.replica_id', '=', replicaId);
  let counted = db
    .selectFrom('webhook_delivery')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('replica_id', '=', replicaId);
  if (state) {
    rows = rows.where('webhook_delivery.state', '=', state);
    counted = counted.where('state', '=', state);
  }
  const [page, { total }] = await Promise.all([
    rows.orderBy('webhook_delivery.seq', 'desc').limit(limit).offset(offset).execute(),
    counted.executeTakeFirstOrThrow(),
  ]);
  return { rows: page, total };
}

/** In the order in which they were made. */
export function selectAttempts(db: Db, deliveryIds: readonly string[]): Promise<AttemptRow[]> {
  if (deliveryIds.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('webhook_attempt')
    .selectAll()
    .where('webhook_delivery_id', 'in', deliveryIds)
    .orderBy('number')
    .execute();
}

/** How many deliveries are still to be made, and how many of those that are kept have failed. */
export async function countDeliveries(db: Db): Promise<{ pending: number; failed: number }> {
  const of = (state: DeliveryState) =>
    db
      .selectFrom('webhook_delivery')
      .select(sql<number>`count(*)::int`.as('count'))
      .where('state', '=', sql.lit(state))
      .executeTakeFirstOrThrow();
  const [pending, failed] = await Promise.all([of('pending'), of('failed')]);
  return { pending: pending.count, failed: failed.count };
}

function withEvents(db: Db) {
  return db
    .selectFrom('webhook_delivery')
    .innerJoin('webhook_event', 'webhook_event.id', 'webhook_delivery.webhook_event_id')
    .selectAll('webhook_delivery')
    .select('webhook_event.type as event_type');
}
