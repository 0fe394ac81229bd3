import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

export type StoredEvent = {
  seq: number;
  at: Date;
  type: string;
  payload: Record<string, unknown>;
  /** Size of the payload as JSON. */
  bytes: number;
};

/**
 * Events after one of them, in order. A page ends when it has `maxEvents` or its payloads have reached `maxBytes`, so
 * that it holds one large event more than that at most.
 */
export async function selectEvents(
  db: Db,
  wanted: { replicaId: string; after: number; maxEvents: number; maxBytes: number },
): Promise<{ events: StoredEvent[]; hasMore: boolean }> {
  const { rows } = await sql<StoredEvent & { seq: string; bytes: number; before: string }>`
    select seq, at, type, payload, bytes, before
      from (
        select seq, at, type, payload, bytes, sum(bytes) over (order by seq) - bytes as before
          from (
            select seq, at, type, payload, octet_length(payload::text) as bytes
              from replica_event
             where replica_id = ${wanted.replicaId} and seq > ${wanted.after}
             order by seq
             limit ${wanted.maxEvents}
          ) as nearest
      ) as summed
     where before < ${wanted.maxBytes}
     order by seq`.execute(db);
  const events = rows.map(({ seq, at, type, payload, bytes }) => ({
    seq: Number(seq),
    at,
    type,
    payload,
    bytes,
  }));
  const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
  return { events, hasMore: events.length === wanted.maxEvents || bytes >= wanted.maxBytes };
}

/** The oldest event that is kept after one of them. */
export async function selectFirstSeq(
  db: Db,
  wanted: { replicaId: string; after: number },
): Promise<number | null> {
  const row = await db
    .selectFrom('replica_event')
    .select('seq')
    .where('replica_id', '=', wanted.replicaId)
    .where('seq', '>', String(wanted.after))
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return row ? Number(row.seq) : null;
}

export async function isReplicaKnown(db: Db, replicaId: string): Promise<boolean> {
  const row = await db.selectFrom('replica').select('state').where('id', '=', replicaId).executeTakeFirst();
  return row !== undefined && row.state !== 'deleted';
}
