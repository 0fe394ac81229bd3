import { notFound } from '../contract/error.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import type { ReplicaRow } from '../replica/service.ts';
import { countEntries, type HistoryRow, selectEntries } from './history-store.ts';
import { type Sender, selectSenders } from './message-store.ts';
import { selectChats } from './store.ts';

export type HistoryPage = {
  /** The chat, when all entries are of one. */
  threadId: string | null;
  codingAgent: CodingAgent;
  /** Oldest first. */
  entries: HistoryRow[];
  total: number;
  hasMore: boolean;
  senders: Map<string, Sender>;
};

/** A page ends early rather than that it grows beyond this, since each entry may be large. */
const PAGE_BYTES = 8 * 1_048_576;
const BATCH = 16;

/** A page of what was said, counted from the end. */
export async function readHistory(
  db: Db,
  row: ReplicaRow,
  wanted: { chatId: string | null; limit: number; offset: number },
): Promise<HistoryPage> {
  const chats = await selectChats(db, row.id);
  const named = chats.find(({ id }) => id === wanted.chatId);
  if (wanted.chatId && !named) throw notFound('Chat');
  const only = named ?? (chats.length === 1 ? chats[0] : undefined);
  const scope = { replicaId: row.id, chatId: wanted.chatId };
  const total = await countEntries(db, scope);
  const entries = await readEntries(db, { ...scope, limit: wanted.limit, offset: wanted.offset });
  const messageIds = entries.flatMap((entry) => entry.message_id ?? []);
  return {
    threadId: only?.id ?? null,
    // The check constraint of the column allows nothing else.
    codingAgent: only?.provider ?? (row.coding_agent as CodingAgent),
    entries: entries.toReversed(),
    total,
    hasMore: wanted.offset + entries.length < total,
    senders: await selectSenders(db, [...new Set(messageIds)]),
  };
}

/** Newest first; at least one when there is one. */
async function readEntries(
  db: Db,
  wanted: { replicaId: string; chatId: string | null; limit: number; offset: number },
): Promise<HistoryRow[]> {
  const entries: HistoryRow[] = [];
  let bytes = 0;
  while (entries.length < wanted.limit) {
    const last = entries.at(-1);
    const batch = await selectEntries(db, {
      ...wanted,
      before: last?.id ?? null,
      offset: last ? 0 : wanted.offset,
      limit: Math.min(BATCH, wanted.limit - entries.length),
    });
    for (const entry of batch) {
      bytes += JSON.stringify(entry.payload).length;
      if (bytes > PAGE_BYTES && entries.length > 0) return entries;
      entries.push(entry);
    }
    if (batch.length < BATCH) return entries;
  }
  return entries;
}
