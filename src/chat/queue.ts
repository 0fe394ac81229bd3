import type { Caller } from '../account/caller.ts';
import { notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { byteLength } from '../lib/text.ts';
import { requireServed } from '../replica/admission.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { type MessageRow, selectOpen, selectTurn, updateMessages } from './message-store.ts';
import { presentChat } from './present.ts';
import { movesTo } from './queue-order.ts';
import * as store from './store.ts';
import type { Turns } from './turns.ts';

type Parts = { replicas: Pick<ReplicaService, 'find' | 'hold' | 'emit'>; turns: Turns; now: () => Date };
export type ChatKey = { id: string; chatId: string; isStrict: boolean };
/** Whether the queue changed, and what it is afterwards. */
type Changed = { success: boolean; queue: MessageRow[] };

/** Queues of chats: what waits, and changes of it. Every change holds the replica. */
export function createQueue({ replicas, turns, now }: Parts) {
  async function read(
    db: Db,
    caller: Caller,
    key: ChatKey,
  ): Promise<{ processing: boolean; queue: MessageRow[] }> {
    const row = await replicas.find(db, caller, key.id);
    const chat = await findChat(db, row, key);
    const { running, queue } = await selectOpen(db, chat);
    return { processing: running !== null, queue };
  }

  function clear(db: Db, caller: Caller, key: ChatKey): Promise<Changed> {
    return change(db, caller, key, async (queue) => {
      await updateMessages(
        db,
        queue.map(({ id }) => id),
        { state: 'removed', finished_at: now() },
      );
      return { success: queue.length > 0, queue: [] };
    });
  }

  function remove(db: Db, caller: Caller, key: ChatKey & { messageId: string }): Promise<Changed> {
    return change(db, caller, key, async (queue) => {
      const { id } = requireQueued(queue, key.messageId);
      await updateMessages(db, [id], { state: 'removed', finished_at: now() });
      return { success: true, queue: queue.filter((one) => one.id !== id) };
    });
  }

  function reorder(
    db: Db,
    caller: Caller,
    key: ChatKey & { messageId: string; position: number },
  ): Promise<Changed> {
    return change(db, caller, key, async (queue) => {
      const { id } = requireQueued(queue, key.messageId);
      const moves = movesTo(queue, id, key.position);
      for (const move of moves) await updateMessages(db, [move.id], { position: move.position });
      const positions = new Map(moves.map((move) => [move.id, move.position]));
      const moved = queue.map((one) => ({ ...one, position: positions.get(one.id) ?? one.position }));
      return { success: moves.length > 0, queue: moved.toSorted((a, b) => a.position - b.position) };
    });
  }

  /** Asks for the end of the turn that runs; a job tells the engine. */
  async function interrupt(
    db: Db,
    caller: Caller,
    key: ChatKey,
  ): Promise<{ interrupted: boolean; queue: string[] }> {
    const row = await replicas.hold(db, caller, key.id);
    const chat = await findChat(db, row, key);
    const { running, queue } = await selectOpen(db, chat);
    if (running) await turns.requestInterrupt(db, row, running.id);
    return { interrupted: running !== null, queue: queue.map(({ id }) => id) };
  }

  /** Adds to a message that still waits, unless it would become too long. The caller holds the replica. */
  async function amendQueued(
    db: Db,
    row: ReplicaRow,
    wanted: { messageId: string; text: string; maxBytes: number },
  ): Promise<'added' | 'full' | 'gone'> {
    const message = await selectTurn(db, { replicaId: row.id, id: wanted.messageId });
    const chat = message && (await store.selectChat(db, { replicaId: row.id, id: message.chat_id }));
    if (!chat || message.state !== 'queued') return 'gone';
    const text = `${message.text}${wanted.text}`;
    if (byteLength(text) > wanted.maxBytes) return 'full';
    await updateMessages(db, [message.id], { text });
    await replicas.emit(db, row.id, [{ type: 'chat.updated', payload: { chat: presentChat(chat) } }]);
    return 'added';
  }

  async function change(
    db: Db,
    caller: Caller,
    key: ChatKey,
    make: (queue: MessageRow[]) => Promise<Changed>,
  ): Promise<Changed> {
    const row = await replicas.hold(db, caller, key.id);
    const chat = await findChat(db, row, key);
    const changed = await make((await selectOpen(db, chat)).queue);
    if (changed.success) {
      await replicas.emit(db, row.id, [{ type: 'chat.updated', payload: { chat: presentChat(chat) } }]);
    }
    return changed;
  }

  return { read, clear, remove, reorder, interrupt, amendQueued };
}

/** The chat, once it is clear that the replica serves it. */
export async function findChat(
  db: Db,
  row: ReplicaRow,
  { chatId, isStrict }: Omit<ChatKey, 'id'>,
): Promise<store.ChatRow> {
  requireServed(row.state, { isStrict });
  const chat = await store.selectChat(db, { replicaId: row.id, id: chatId });
  if (!chat) throw notFound('Chat');
  return chat;
}

/** The message in work is not in the queue, and what is not there cannot be changed. */
function requireQueued(queue: readonly MessageRow[], messageId: string): MessageRow {
  const found = queue.find(({ id }) => id === messageId);
  if (!found) throw notFound('Queued message');
  return found;
}
