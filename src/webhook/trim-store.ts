import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

type Wanted = { before: Date; limit: number };

/** Deletes some events that are older and have nothing that waits, with their deliveries; answers how many. */
export async function deleteOldEvents(db: Db, { before, limit }: Wanted): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_event
     where id = any (array(
       select event.id from webhook_event as event
        where event.created_at < ${before}
          and not exists (select from webhook_delivery as delivery
                           where delivery.webhook_event_id = event.id and delivery.state = 'pending')
        order by event.created_at
        limit ${limit}))`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Empties what is left of the receivers of some replicas that were deleted before and have nothing to tell; answers how many. */
export async function clearReceivers(db: Db, { before, limit }: Wanted): Promise<number> {
  const { numAffectedRows } = await sql`
    update replica
       set webhook_url = null, webhook_secret = null
     where id = any (array(
       select left_behind.id from replica as left_behind
        where left_behind.state = 'deleted' and left_behind.webhook_url is not null
          and left_behind.deleted_at < ${before}
          and not exists (select from webhook_delivery as delivery where delivery.replica_id = left_behind.id)
        limit ${limit}))`.execute(db);
  return Number(numAffectedRows ?? 0);
}
