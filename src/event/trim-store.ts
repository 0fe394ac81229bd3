import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

/** How much of a replica's events is kept. */
export type Kept = { count: number; since: Date };

/**
 * Looks at the next replicas that have events, in the order of their ids, and names those of which some are to go. The
 * walk jumps from replica to replica in the index, so it costs nothing for events that stay.
 */
export async function selectOverfull(
  db: Db,
  wanted: Kept & { after: string | null; limit: number },
): Promise<{ last: string | null; overfull: string[] }> {
  const next = (after: ReturnType<typeof sql>) => sql`
    (select replica_id from replica_event where replica_id > ${after} order by replica_id limit 1)`;
  const { rows } = await sql<{ replica_id: string; is_overfull: boolean }>`
    with recursive walked (replica_id, place) as (
      select ${next(sql`${wanted.after ?? '00000000-0000-0000-0000-000000000000'}::uuid`)}, 1
      union all
      select ${next(sql`walked.replica_id`)}, place + 1 from walked
       where replica_id is not null and place < ${wanted.limit}
    )
    select walked.replica_id,
           oldest.seq <= replica.event_seq - ${wanted.count} or oldest.at < ${wanted.since} as is_overfull
      from walked
      join replica on replica.id = walked.replica_id
      cross join lateral (
        select seq, at from replica_event where replica_id = walked.replica_id order by seq limit 1
      ) as oldest
     order by walked.replica_id`.execute(db);
  return {
    last: rows.at(-1)?.replica_id ?? null,
    overfull: rows.filter((row) => row.is_overfull).map((row) => row.replica_id),
  };
}

/** Deletes the oldest events of a replica that are not to be kept, at most `limit`; answers how many. */
export async function deleteOldest(
  db: Db,
  wanted: Kept & { replicaId: string; limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    with oldest as materialized (
      select seq, at from replica_event where replica_id = ${wanted.replicaId} order by seq limit ${wanted.limit}
    )
    delete from replica_event
     where replica_id = ${wanted.replicaId}
       and seq in (
         select oldest.seq from oldest
          where oldest.seq <= (select event_seq from replica where id = ${wanted.replicaId}) - ${wanted.count}
             -- Only from the beginning: what is kept has no holes, whatever a clock has done.
             or oldest.seq < coalesce((select min(young.seq) from oldest as young where young.at >= ${wanted.since}),
                                      (select max(seq) + 1 from oldest))
       )`.execute(db);
  return Number(numAffectedRows ?? 0);
}
