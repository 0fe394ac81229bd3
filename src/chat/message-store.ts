import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { z } from 'zod';
import type { CodingAgent, imageContent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import type { HistoryEntry, Message } from '../db/schema.ts';
import type { ThinkingLevel } from '../engine/protocol.ts';
import type { ChatRef } from './store.ts';

export type MessageState = 'queued' | 'running' | 'completed' | 'failed' | 'interrupted' | 'removed';
export type MessageOptions = {
  plan_mode: boolean;
  goal_mode: boolean;
  fast_mode: boolean;
  thinking_level: ThinkingLevel | null;
  model: string | null;
  images: z.output<typeof imageContent>[];
};
export type Sender = { userId: string | null; email: string | null; displayName: string };
/** A message without its options, which can be large. */
export type MessageRow = Omit<Selectable<Message>, 'state' | 'sender' | 'options'> & {
  state: MessageState;
  sender: Sender | null;
};
/** A message that has just left its queue, with everything that its engine is told. */
export type StartedMessage = MessageRow & { options: MessageOptions };
/** A message with what is said of its chat. */
export type Turn = MessageRow & { provider: CodingAgent; isChatDeleted: boolean };

const columns = [
  'message.id',
  'message.organization_id',
  'message.replica_id',
  'message.chat_id',
  'message.position',
  'message.state',
  'message.text',
  'message.sender',
  'message.sent_at',
  'message.started_at',
  'message.finished_at',
  'message.error',
  'message.failure',
  'message.created_at',
] as const;

/** Keeps a message, and with it the entry of the history when it has one already. */
export async function insertMessage(
  db: Db,
  row: Insertable<Message>,
  entry: Insertable<HistoryEntry> | null,
): Promise<MessageRow> {
  if (!entry) {
    return typed(await db.insertInto('message').values(row).returning(columns).executeTakeFirstOrThrow());
  }
  const kept = await db
    .with('kept', (query) => query.insertInto('message').values(row).returning(columns))
    .with('entry', (query) => query.insertInto('history_entry').values(entry))
    .selectFrom('kept')
    .selectAll()
    .executeTakeFirstOrThrow();
  return typed(kept);
}

/** What waits in a chat, in order, and what runs in it, as of one moment. */
export async function selectOpen(
  db: Db,
  chat: ChatRef,
): Promise<{ running: MessageRow | null; queue: MessageRow[] }> {
  const rows = await db
    .selectFrom('message')
    .select(columns)
    .where('replica_id', '=', chat.replica_id)
    .where('chat_id', '=', chat.id)
    .where('state', 'in', ['queued', 'running'])
    .orderBy('position')
    .orderBy('id')
    .execute();
  const open = rows.map(typed);
  return {
    running: open.find(({ state }) => state === 'running') ?? null,
    queue: open.filter(({ state }) => state === 'queued'),
  };
}

/** What the queue of a chat holds, without reading it. */
export function measureQueue(
  db: Db,
  chat: ChatRef,
): Promise<{ count: number; bytes: number; last: number | null }> {
  return db
    .selectFrom('message')
    .select([
      sql<number>`count(*)::int`.as('count'),
      sql<number>`coalesce(sum(octet_length(text) + pg_column_size(options)), 0)::float8`.as('bytes'),
      (eb) => eb.fn.max('position').as('last'),
    ])
    .where('replica_id', '=', chat.replica_id)
    .where('chat_id', '=', chat.id)
    .where('state', '=', 'queued')
    .executeTakeFirstOrThrow();
}

/** Lets the first message of a chat's queue run, when none runs; undefined when there is nothing to start. */
export async function startFirst(db: Db, chat: ChatRef): Promise<StartedMessage | undefined> {
  const row = await db
    .updateTable('message')
    .set({ state: 'running' })
    .where('id', '=', (eb) =>
      eb
        .selectFrom('message as first')
        .select('first.id')
        .where('first.replica_id', '=', chat.replica_id)
        .where('first.chat_id', '=', chat.id)
        .where('first.state', '=', 'queued')
        .orderBy('first.position')
        .orderBy('first.id')
        .limit(1),
    )
    .where('state', '=', 'queued')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('message as other')
            .select('other.id')
            .where('other.replica_id', '=', chat.replica_id)
            .where('other.chat_id', '=', chat.id)
            .where('other.state', '=', 'running'),
        ),
      ),
    )
    .returning([...columns, 'message.options'])
    .executeTakeFirst();
  // Options are written by this noun only.
  return row && { ...typed(row), options: row.options as MessageOptions };
}

/** The chats of a replica in which something waits and nothing runs. */
export async function selectIdleChats(db: Db, replicaId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('message')
    .select('chat_id')
    .where('replica_id', '=', replicaId)
    .where('state', 'in', ['queued', 'running'])
    .groupBy('chat_id')
    .having(sql<boolean>`bool_and(state = 'queued')`)
    .orderBy('chat_id')
    .execute();
  return rows.map(({ chat_id }) => chat_id);
}

export async function selectTurn(
  db: Db,
  key: { replicaId: string; id: string; chatId?: string },
): Promise<Turn | undefined> {
  let query = turns(db).where('message.id', '=', key.id).where('message.replica_id', '=', key.replicaId);
  if (key.chatId) query = query.where('message.chat_id', '=', key.chatId);
  const row = await query.executeTakeFirst();
  return row && typedTurn(row);
}

/** The chat of a replica with the message that runs in it, if any. */
export async function selectTurnOf(
  db: Db,
  key: { replicaId: string; chatId: string },
): Promise<{ provider: CodingAgent; messageId: string | null } | undefined> {
  const [row] = await selectInWork(db, key);
  return row && { provider: row.provider as CodingAgent, messageId: row.message_id };
}

const selectInWork = prepared(['replicaId', 'chatId'], (db, { replicaId, chatId }) =>
  db
    .selectFrom('chat')
    .leftJoin('message', (join) =>
      join
        .onRef('message.replica_id', '=', 'chat.replica_id')
        .onRef('message.chat_id', '=', 'chat.id')
        .on('message.state', '=', sql.lit('running')),
    )
    .select(['chat.provider', 'message.id as message_id'])
    .where('chat.replica_id', '=', replicaId)
    .where('chat.id', '=', chatId),
);

export async function selectOptions(db: Db, id: string): Promise<MessageOptions> {
  const { options } = await db
    .selectFrom('message')
    .select('options')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  // Written by this noun only.
  return options as MessageOptions;
}

export async function selectRunning(db: Db, replicaId: string): Promise<Turn[]> {
  const rows = await turns(db)
    .where('message.replica_id', '=', replicaId)
    .where('message.state', '=', 'running')
    .orderBy('message.id')
    .execute();
  return rows.map(typedTurn);
}

export async function updateMessages(
  db: Db,
  ids: readonly string[],
  change: Updateable<Message>,
): Promise<void> {
  if (ids.length === 0) return;
  await db.updateTable('message').set(change).where('id', 'in', ids).execute();
}

/**
 * Notes that the engine of an incarnation has taken a message, unless its turn is over by now, or the sandbox has started
 * anew and knows nothing of it. The replica's row is held for that, as by everybody who changes its messages.
 */
export async function markSent(
  db: Db,
  sent: { replicaId: string; incarnation: number; id: string; at: Date },
): Promise<void> {
  await db
    .with('held', (query) =>
      query
        .selectFrom('replica')
        .select('id')
        .where('id', '=', sent.replicaId)
        .where('incarnation', '=', sent.incarnation)
        .forUpdate(),
    )
    .updateTable('message')
    .from('held')
    .set((eb) => ({ sent_at: eb.fn.coalesce('message.sent_at', eb.val(sent.at)) }))
    .where('message.id', '=', sent.id)
    .whereRef('message.replica_id', '=', 'held.id')
    .where('message.state', '=', 'running')
    .execute();
}

/** Makes the running messages that have not begun look as if they had never been sent. */
export async function unsendUnstarted(db: Db, replicaId: string): Promise<void> {
  await db
    .updateTable('message')
    .set({ sent_at: null })
    .where('replica_id', '=', replicaId)
    .where('state', '=', 'running')
    .where('started_at', 'is', null)
    .execute();
}

export async function failQueued(
  db: Db,
  failed: { replicaId: string; error: string; at: Date },
): Promise<void> {
  await db
    .updateTable('message')
    .set({ state: 'failed', error: failed.error, finished_at: failed.at })
    .where('replica_id', '=', failed.replicaId)
    .where('state', '=', 'queued')
    .execute();
}

/** Whether a turn runs or a message waits anywhere in a replica. */
export async function hasOpen(db: Db, replicaId: string): Promise<boolean> {
  const found = await db
    .selectFrom('message')
    .select('id')
    .where('replica_id', '=', replicaId)
    .where('state', 'in', ['queued', 'running'])
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Active replicas in which a message from before that time could be on its way to the engine and is not. */
export function selectReplicasDue(
  db: Db,
  due: { before: Date; limit: number; organizationId?: string },
): Promise<{ id: string; host_id: string }[]> {
  let query = db
    .selectFrom('message')
    .innerJoin('replica', 'replica.id', 'message.replica_id')
    .select(['replica.id', 'replica.host_id'])
    .distinct()
    .where('replica.state', '=', 'active')
    .where('message.created_at', '<', due.before)
    .where(({ and, or, eb, not, exists, selectFrom }) => {
      const isUnsent = and([eb('message.state', '=', 'running'), eb('message.sent_at', 'is', null)]);
      const running = selectFrom('message as running')
        .select('running.id')
        .whereRef('running.replica_id', '=', 'message.replica_id')
        .whereRef('running.chat_id', '=', 'message.chat_id')
        .where('running.state', '=', 'running');
      return or([isUnsent, and([eb('message.state', '=', 'queued'), not(exists(running))])]);
    });
  if (due.organizationId) query = query.where('replica.organization_id', '=', due.organizationId);
  return query.limit(due.limit).execute();
}

/** Active replicas of a host with messages that left their queue and that no engine is known to have. */
export function selectUnsent(
  db: Db,
  wanted: { hostId: string; before: Date; limit: number },
): Promise<{ id: string; host_id: string }[]> {
  return db
    .selectFrom('message')
    .innerJoin('replica', 'replica.id', 'message.replica_id')
    .select(['replica.id', 'replica.host_id'])
    .distinct()
    .where('message.state', '=', sql.lit('running'))
    .where('message.sent_at', 'is', null)
    .where('message.created_at', '<', wanted.before)
    .where('replica.state', '=', 'active')
    .where('replica.host_id', '=', wanted.hostId)
    .limit(wanted.limit)
    .execute();
}

/** Who sent the messages, by their ids. */
export async function selectSenders(db: Db, ids: readonly string[]): Promise<Map<string, Sender>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom('message')
    .select(['id', 'sender'])
    .where('id', 'in', ids)
    .where('sender', 'is not', null)
    .execute();
  return new Map(rows.map(({ id, sender }) => [id, sender as Sender]));
}

function turns(db: Db) {
  return db
    .selectFrom('message')
    .innerJoin('chat', (join) =>
      join.onRef('chat.replica_id', '=', 'message.replica_id').onRef('chat.id', '=', 'message.chat_id'),
    )
    .select([...columns, 'chat.provider', 'chat.deleted_at as chat_deleted_at']);
}

type Loose = Omit<Selectable<Message>, 'options'>;

function typed(row: Loose): MessageRow {
  // The check constraint of the column allows no other state, and senders are written by this noun only.
  return row as MessageRow;
}

function typedTurn(row: Loose & { provider: string; chat_deleted_at: Date | null }): Turn {
  const { chat_deleted_at, provider, ...message } = row;
  return {
    ...typed(message),
    provider: provider as CodingAgent,
    isChatDeleted: chat_deleted_at !== null,
  };
}
