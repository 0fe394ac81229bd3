import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { HistoryEntry } from '../db/schema.ts';
import type { JsonRecord } from './bounded-json.ts';

export type HistoryRow = Omit<Selectable<HistoryEntry>, 'payload'> & { payload: JsonRecord };
type Scope = { replicaId: string; chatId: string | null };

export async function insertEntry(db: Db, row: Insertable<HistoryEntry>): Promise<void> {
  await db.insertInto('history_entry').values(row).execute();
}

/** Writes an entry when the history of its replica does not become larger than that; whether it did. */
export async function insertWithin(
  db: Db,
  row: Insertable<HistoryEntry>,
  { bytes, maxBytes }: { bytes: number; maxBytes: number },
): Promise<boolean> {
  const { rows } = await sql`
    with grown as (
      update replica set history_bytes = history_bytes + ${bytes}
       where id = ${row.replica_id} and history_bytes + ${bytes} <= ${maxBytes}
      returning id
    )
    insert into history_entry (replica_id, chat_id, message_id, at, type, payload)
    select id, ${row.chat_id}::uuid, ${row.message_id}::uuid, ${row.at}::timestamptz, ${row.type}::text,
           ${row.payload}::jsonb
      from grown
    returning id`.execute(db);
  return rows.length > 0;
}

export async function countEntries(db: Db, scope: Scope): Promise<number> {
  const { total } = await entries(db, scope)
    .select(sql<number>`count(*)::int`.as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

/** The newest entries first, older than `before` when it is given. */
export async function selectEntries(
  db: Db,
  wanted: Scope & { before: string | null; offset: number; limit: number },
): Promise<HistoryRow[]> {
  let query = entries(db, wanted)
    .selectAll('history_entry')
    .orderBy('history_entry.id', 'desc')
    .offset(wanted.offset)
    .limit(wanted.limit);
  if (wanted.before) query = query.where('history_entry.id', '<', wanted.before);
  // Payloads are written as objects only.
  return (await query.execute()) as HistoryRow[];
}

/** What was said in a deleted chat is not shown. */
function entries(db: Db, { replicaId, chatId }: Scope) {
  const query = db
    .selectFrom('history_entry')
    .innerJoin('chat', (join) =>
      join
        .onRef('chat.replica_id', '=', 'history_entry.replica_id')
        .onRef('chat.id', '=', 'history_entry.chat_id'),
    )
    .where('history_entry.replica_id', '=', replicaId)
    .where('chat.deleted_at', 'is', null);
  return chatId ? query.where('history_entry.chat_id', '=', chatId) : query;
}
