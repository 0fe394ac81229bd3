import type { Db } from '../db/database.ts';

/** Active replicas in which a turn runs that was sent before that time, in the order of their ids. */
export function selectReplicasAtWork(
  db: Db,
  wanted: { sentBefore: Date; after: string | null; limit: number },
): Promise<{ id: string; host_id: string }[]> {
  let query = db
    .selectFrom('message')
    .innerJoin('replica', 'replica.id', 'message.replica_id')
    .select(['replica.id', 'replica.host_id'])
    .distinct()
    .where('replica.state', '=', 'active')
    .where('message.state', '=', 'running')
    .where('message.sent_at', '<', wanted.sentBefore)
    .orderBy('replica.id')
    .limit(wanted.limit);
  if (wanted.after) query = query.where('replica.id', '>', wanted.after);
  return query.execute();
}
