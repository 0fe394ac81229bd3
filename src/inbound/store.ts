import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

export type InboundDelivery = { organizationId: string; source: string; deliveryId: string; at: Date };

/** False when the id is known; one that another transaction is about to take is waited for. */
export async function insertDelivery(db: Db, delivery: InboundDelivery): Promise<boolean> {
  const inserted = await db
    .insertInto('inbound_delivery')
    .values({
      organization_id: delivery.organizationId,
      source: delivery.source,
      delivery_id: delivery.deliveryId,
      at: delivery.at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('at')
    .executeTakeFirst();
  return inserted !== undefined;
}

/** Deletes the oldest that came before that time, at most `limit`; answers how many. */
export async function deleteDeliveries(
  db: Db,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from inbound_delivery
     where ctid = any (array(
       select ctid from inbound_delivery where at < ${before} order by at limit ${limit}))`.execute(db);
  return Number(numAffectedRows ?? 0);
}
