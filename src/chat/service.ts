import type { Caller } from '../account/caller.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import { requireServed } from '../replica/admission.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { type Accepted, type CredentialCheck, createAcceptance, type MessageBody } from './acceptance.ts';
import { createCommands } from './commands.ts';
import { readHistory } from './history.ts';
import { hasOpen, selectOpen, updateMessages } from './message-store.ts';
import { createOpening } from './opening.ts';
import { presentChat } from './present.ts';
import { type ChatKey, createQueue, findChat } from './queue.ts';
import { personOf, senderOf } from './sender.ts';
import * as store from './store.ts';
import { createTurns } from './turns.ts';

export type { TurnReport } from './turns.ts';
export type ChatService = ReturnType<typeof createChatService>;

type Parts = {
  replicas: Pick<
    ReplicaService,
    'find' | 'hold' | 'emit' | 'emitActivity' | 'request' | 'noteActivity' | 'noteWorkDone'
  >;
  hasCredential: CredentialCheck;
  isOfflineModelOn: boolean;
  noticeOf: Parameters<typeof createTurns>[0]['noticeOf'];
  mayStart: Parameters<typeof createTurns>[0]['mayStart'];
  summarizeTurn: Parameters<typeof createTurns>[0]['summarizeTurn'];
  onTurnEnded: Parameters<typeof createTurns>[0]['onTurnEnded'];
  handOver: Parameters<typeof createTurns>[0]['handOver'];
  hostId: string;
  newId: () => string;
  now: () => Date;
};
type ReplicaKey = { id: string; isStrict: boolean };

/** Chats of replicas, their queues and their history. Every change holds the replica's row first. */
export function createChatService(parts: Parts) {
  const { replicas, now } = parts;
  const turns = createTurns(parts);
  const opening = createOpening(parts);
  const accept = createAcceptance({ ...parts, turns, opening });
  const queue = createQueue({ replicas, turns, now });
  const commands = createCommands({ replicas, now });

  /** Keeps a message and wakes the replica when it sleeps. */
  async function send(
    db: Db,
    caller: Caller,
    { id, isStrict, ...body }: ReplicaKey & MessageBody,
  ): Promise<Accepted> {
    const held = await replicas.hold(db, caller, id);
    requireServed(held.state, { isStrict });
    const sender = await senderOf(db, caller, body);
    return accept(db, await replicas.request(db, held, 'wake'), { ...body, sender });
  }

  /** Keeps the message with which a replica is created. */
  async function firstMessage(db: Db, row: ReplicaRow, body: MessageBody): Promise<Accepted> {
    const { organization_id: organizationId, person_id: personId } = row;
    return accept(db, row, { ...body, sender: await personOf(db, { organizationId, personId }) });
  }

  async function list(
    db: Db,
    caller: Caller,
    { id, isStrict }: ReplicaKey,
  ): Promise<{ chats: store.ChatRow[]; isWaking: boolean }> {
    const row = await replicas.find(db, caller, id);
    requireServed(row.state, { isStrict });
    return { chats: await store.selectChats(db, row.id), isWaking: row.state === 'waking' };
  }

  async function create(
    db: Db,
    caller: Caller,
    wanted: ReplicaKey & { provider: CodingAgent; title: string | null; chatId?: string | undefined },
  ): Promise<store.ChatRow> {
    const row = await replicas.hold(db, caller, wanted.id);
    requireServed(row.state, wanted);
    const { provider, title, chatId } = wanted;
    return opening.open(db, row, { provider, title, ...(chatId && { id: chatId }) });
  }

  /** Hides a chat. Its queue is gone at once; jobs interrupt the turn that runs in it and let the engine forget it. */
  async function remove(db: Db, caller: Caller, key: ChatKey): Promise<void> {
    const row = await replicas.hold(db, caller, key.id);
    const chat = await findChat(db, row, key);
    const at = now();
    const { running, queue: waiting } = await selectOpen(db, chat);
    await updateMessages(
      db,
      waiting.map(({ id }) => id),
      { state: 'removed', finished_at: at },
    );
    await store.updateChat(db, chat, { deleted_at: at, updated_at: at });
    await replicas.emit(db, row.id, [{ type: 'chat.deleted', payload: { chatId: chat.id } }]);
    if (running) await turns.requestInterrupt(db, row, running.id);
    await turns.requestForget(db, row, chat.id);
  }

  /** What a replica's own answer shows of its chats. */
  async function overview(db: Db, replicaId: string) {
    const rows = await store.selectChats(db, replicaId);
    return { chats: rows.map(presentChat), lastChatMessage: lastMessage(rows) };
  }

  return {
    send,
    firstMessage,
    list,
    create,
    remove,
    overview,
    queue,
    amendQueued: queue.amendQueued,
    /** Whether a turn runs or a message waits. */
    hasWork: hasOpen,
    listCommands: commands.list,
    keepCommands: commands.keep,
    readHistory,
    turns,
    report: turns.report,
    onBooted: turns.onBooted,
    onSuspended: turns.onSuspended,
    failRunning: turns.failRunning,
    giveUp: turns.giveUp,
  };
}

/** The preview of what was said last in any of the chats. */
function lastMessage(chats: readonly store.ChatRow[]) {
  const spoken = chats.flatMap(({ last_message_text: text, last_message_at: at, provider }) =>
    text !== null && at !== null ? [{ text, provider, at: at.toISOString() }] : [],
  );
  return spoken.toSorted((a, b) => (a.at < b.at ? -1 : 1)).at(-1) ?? null;
}
