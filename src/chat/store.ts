import type { ExpressionBuilder, Insertable, Selectable, Updateable } from 'kysely';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import type { Chat, DB } from '../db/schema.ts';

/** A chat, whether a turn runs in it, and whether messages wait in it. */
export type ChatRow = Omit<Selectable<Chat>, 'provider'> & {
  provider: CodingAgent;
  processing: boolean;
  isQueueing: boolean;
};
type Key = { replicaId: string; id: string };
/** What names a chat: callers may make ids, so one id may be that of chats in several replicas. */
export type ChatRef = Pick<ChatRow, 'replica_id' | 'id'>;

/** The chats of a replica that were not deleted, in the order in which they were opened. */
export async function selectChats(db: Db, replicaId: string): Promise<ChatRow[]> {
  const rows = await chats(db)
    .where('replica_id', '=', replicaId)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(typed);
}

export async function selectChat(db: Db, { replicaId, id }: Key): Promise<ChatRow | undefined> {
  const row = await chats(db)
    .where('id', '=', id)
    .where('replica_id', '=', replicaId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst();
  return row && typed(row);
}

/** Nothing when another chat of the replica has the id. */
export async function insertChat(db: Db, row: Insertable<Chat>): Promise<ChatRow | undefined> {
  const made = await db
    .insertInto('chat')
    .values(row)
    .onConflict((conflict) => conflict.columns(['replica_id', 'id']).doNothing())
    .returningAll()
    .executeTakeFirst();
  return made && typed({ ...made, processing: false, isQueueing: false });
}

export async function updateChat(db: Db, chat: ChatRef, change: Updateable<Chat>): Promise<void> {
  await db
    .updateTable('chat')
    .set(change)
    .where('replica_id', '=', chat.replica_id)
    .where('id', '=', chat.id)
    .execute();
}

function chats(db: Db) {
  return db
    .selectFrom('chat')
    .selectAll('chat')
    .select((eb) => [hasMessage(eb, 'running').as('processing'), hasMessage(eb, 'queued').as('isQueueing')]);
}

function hasMessage(eb: ExpressionBuilder<DB, 'chat'>, state: 'running' | 'queued') {
  return eb.exists(
    eb
      .selectFrom('message')
      .select('message.id')
      .whereRef('message.replica_id', '=', 'chat.replica_id')
      .whereRef('message.chat_id', '=', 'chat.id')
      .where('message.state', '=', state),
  );
}

function typed(row: Selectable<Chat> & { processing: unknown; isQueueing: unknown }): ChatRow {
  // The check constraint of the column allows nothing else, and `exists` is a boolean.
  return row as ChatRow;
}
