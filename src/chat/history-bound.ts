import type { Insertable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { HistoryEntry } from '../db/schema.ts';
import { byteLength } from '../lib/text.ts';
import type { JsonRecord } from './bounded-json.ts';
import { insertWithin } from './history-store.ts';

/** What agents say in one replica, in all. */
const MAX_BYTES = 1_073_741_824;
/** Room for the marks that stand in place of what is too much; when it is used up, not even those are kept. */
const MARKS_BYTES = 16 * 1_048_576;
/** What an entry takes besides its payload. */
const ENTRY_BYTES = 200;
const MAX_TYPE_CHARACTERS = 100;

/** Keeps what an agent said while the history of its replica has room; beyond that a mark says that it did. */
export async function keepWithin(
  db: Db,
  entry: Omit<Insertable<HistoryEntry>, 'payload'>,
  payload: JsonRecord,
): Promise<void> {
  if (await insert(payload, MAX_BYTES)) return;
  const isTyped = typeof payload.type === 'string' && payload.type.length <= MAX_TYPE_CHARACTERS;
  await insert({ type: isTyped ? payload.type : entry.type, truncated: true }, MAX_BYTES + MARKS_BYTES);

  function insert(value: JsonRecord, maxBytes: number): Promise<boolean> {
    const text = JSON.stringify(value);
    const bytes = byteLength(text) + ENTRY_BYTES;
    return insertWithin(db, { ...entry, payload: text }, { bytes, maxBytes });
  }
}
