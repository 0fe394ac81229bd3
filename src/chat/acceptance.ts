import type { z } from 'zod';
import type { chatOperations } from '../contract/chat.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { hasGoals, needsCredential } from './agent.ts';
import { readLeadingWords } from './leading-words.ts';
import {
  insertMessage,
  type MessageOptions,
  measureQueue,
  type Sender,
  type StartedMessage,
} from './message-store.ts';
import type { ChatOpening } from './opening.ts';
import { presentChat } from './present.ts';
import { previewOf } from './preview.ts';
import { nextPosition } from './queue-order.ts';
import * as store from './store.ts';
import type { Turns } from './turns.ts';

export type MessageBody = z.output<(typeof chatOperations.sendMessage)['body']>;
/** Whether the organization has set what an agent cannot work without. */
export type CredentialCheck = (
  db: Db,
  key: { organizationId: string; agent: CodingAgent },
) => Promise<boolean>;
export type Accepted = {
  status: 'sent' | 'queued' | 'waking';
  messageId: string;
  /** Null unless queued. */
  position: number | null;
  chatId: string;
};
type Placed = { accepted: Accepted; processing: boolean };
type Parts = {
  replicas: Pick<ReplicaService, 'emitActivity'>;
  hasCredential: CredentialCheck;
  isOfflineModelOn: boolean;
  opening: ChatOpening;
  turns: Turns;
  newId: () => string;
  now: () => Date;
};

const EMPTY = { count: 0, bytes: 0, last: null };
const MAX_QUEUED = 1_000;
/** All texts and images that wait in one queue together. */
const MAX_QUEUED_BYTES = 64 * 1_048_576;

export function createAcceptance(parts: Parts) {
  const { replicas, hasCredential, isOfflineModelOn, opening, turns, newId, now } = parts;

  /** Keeps a message and says what becomes of it. The caller holds the replica, which is awake or on its way. */
  return async function accept(
    db: Db,
    row: ReplicaRow,
    { sender, ...body }: MessageBody & { sender: Sender },
  ): Promise<Accepted> {
    const chosen = await choose(db, row, body);
    const provider = chosen?.provider ?? body.coding_agent ?? codingAgentOf(row);
    await requireCredential(db, row, provider);
    const { text, options } = compose(provider, body);
    const chat = chosen ?? (await opening.open(db, row, { provider, title: null }));
    const waiting = chat.isQueueing ? await measureQueue(db, chat) : EMPTY;
    requireRoom(waiting, { text, options });
    const isNext = row.state === 'active' && !chat.processing && !chat.isQueueing;
    const isStarted = isNext && (await turns.mayStart(db, row.id));
    const id = newId();
    const kept = await insertMessage(
      db,
      {
        id,
        organization_id: row.organization_id,
        replica_id: row.id,
        chat_id: chat.id,
        position: nextPosition(waiting.last),
        state: isStarted ? 'running' : 'queued',
        text,
        options: JSON.stringify(options),
        sender: JSON.stringify(sender),
        created_at: now(),
      },
      isStarted ? turns.historyEntry(chat, { id, text, options }) : null,
    );
    const { accepted, processing } = isStarted
      ? await start(db, row, chat, { ...kept, options })
      : await enqueue(db, row, chat, { messageId: id, before: waiting.count });
    await announce(db, row, { chat: { ...chat, processing }, text, accepted });
    return accepted;
  };

  /** The chat that was named, else the one of the named agent, or of any, that was used last. */
  async function choose(db: Db, row: ReplicaRow, body: MessageBody): Promise<store.ChatRow | undefined> {
    if (body.chat_id) {
      const chat = await store.selectChat(db, { replicaId: row.id, id: body.chat_id });
      if (!chat) throw notFound('Chat');
      if (body.coding_agent && body.coding_agent !== chat.provider) {
        throw new AppError(
          'invalid_request',
          `The chat is one of ${chat.provider}; leave coding_agent out, or name another chat.`,
        );
      }
      return chat;
    }
    const fitting = (await store.selectChats(db, row.id)).filter(
      ({ provider }) => !body.coding_agent || provider === body.coding_agent,
    );
    return fitting.toSorted((a, b) => usedAt(a) - usedAt(b) || (a.id < b.id ? -1 : 1)).at(-1);
  }

  async function requireCredential(db: Db, row: ReplicaRow, agent: CodingAgent): Promise<void> {
    if (!needsCredential(agent, { isOfflineModelOn })) return;
    if (await hasCredential(db, { organizationId: row.organization_id, agent })) return;
    throw new AppError(
      'invalid_request',
      `The organization has no credential for ${agent}; an admin sets it with PUT /v1/organization/coding-agents/${agent}.`,
    );
  }

  /** A message runs at once when its replica is active and its chat has nothing else to do. */
  async function start(
    db: Db,
    row: ReplicaRow,
    chat: store.ChatRow,
    message: StartedMessage,
  ): Promise<Placed> {
    await turns.sendStarted(db, row, { ...message, provider: chat.provider });
    const accepted = { messageId: message.id, chatId: chat.id, status: 'sent', position: null } as const;
    return { accepted, processing: true };
  }

  /** Others may wait although nothing runs, as when a budget was reached: the first of them is then tried again. */
  async function enqueue(
    db: Db,
    row: ReplicaRow,
    chat: store.ChatRow,
    { messageId, before }: { messageId: string; before: number },
  ): Promise<Placed> {
    const known = { messageId, chatId: chat.id };
    const mayBegin = row.state === 'active' && !chat.processing;
    const started = mayBegin ? await turns.startNext(db, chat) : undefined;
    if (started) await turns.sendStarted(db, row, { ...started, provider: chat.provider });
    // A budget may have been raised since the message was kept.
    if (started?.id === messageId)
      return { accepted: { ...known, status: 'sent', position: null }, processing: true };
    const processing = chat.processing || started !== undefined;
    if (row.state !== 'active' && row.state !== 'preparing')
      return { accepted: { ...known, status: 'waking', position: null }, processing };
    const position = started ? before - 1 : before;
    return { accepted: { ...known, status: 'queued', position }, processing };
  }

  async function announce(
    db: Db,
    row: ReplicaRow,
    { chat, text, accepted }: { chat: store.ChatRow; text: string; accepted: Accepted },
  ): Promise<void> {
    const at = now();
    const change = { last_message_text: previewOf(text), last_message_at: at, updated_at: at };
    await store.updateChat(db, chat, change);
    const { messageId, position, status, chatId } = accepted;
    await replicas.emitActivity(db, row, [
      {
        type: 'chat.turn.accepted',
        payload: { chatId, messageId, queued: status !== 'sent', position },
      },
      { type: 'chat.updated', payload: { chat: presentChat({ ...chat, ...change }) } },
    ]);
  }
}

/** The text without its leading words, and the modes that these and the flags ask for together. */
function compose(provider: CodingAgent, body: MessageBody): { text: string; options: MessageOptions } {
  if (body.goal_mode && !hasGoals(provider)) {
    throw new AppError(
      'invalid_request',
      `goal_mode is for codex only, and this message goes to ${provider}.`,
    );
  }
  const read = readLeadingWords(body.message, { hasGoals: hasGoals(provider) });
  if (read.text.trim() === '') {
    throw new AppError('invalid_request', 'The message says nothing besides /plan, /goal or /fast.');
  }
  const options: MessageOptions = {
    plan_mode: read.plan || body.plan_mode === true,
    goal_mode: read.goal || body.goal_mode === true,
    fast_mode: read.fast || body.fast_mode === true,
    thinking_level: body.thinking_level ?? null,
    model: body.model ?? null,
    images: body.images ?? [],
  };
  return { text: read.text, options };
}

function requireRoom(
  waiting: { count: number; bytes: number },
  { text, options }: { text: string; options: MessageOptions },
): void {
  if (waiting.count >= MAX_QUEUED) {
    throw new AppError(
      'limit_reached',
      `A queue holds at most ${MAX_QUEUED} messages; wait, or remove some.`,
    );
  }
  const bytes = Buffer.byteLength(text) + JSON.stringify(options.images).length;
  if (waiting.bytes + bytes > MAX_QUEUED_BYTES) {
    throw new AppError(
      'limit_reached',
      'The messages of a queue hold at most 64 MiB together; wait, or remove some.',
    );
  }
}

function usedAt(chat: store.ChatRow): number {
  return (chat.last_message_at ?? chat.created_at).getTime();
}

function codingAgentOf(row: ReplicaRow): CodingAgent {
  // The check constraint of the column allows nothing else.
  return row.coding_agent as CodingAgent;
}
