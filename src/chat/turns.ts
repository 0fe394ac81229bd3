/*
 * From the queue to the end of a turn. A message is `queued`, then `running` from the moment it leaves the queue, and
 * ends once. Leaving the queue is a change in the database; a job then hands running messages to the engine, as often
 * as needed, since the engine takes a message of one id once. On the sandbox's own host a message is handed over right
 * after the commit, and the job is there for the case that this comes to nothing. `sent_at` says that the engine has it,
 * and is cleared when a sandbox starts anew and the turn had not begun. Whoever calls these functions holds the
 * replica's row, so that accepting, reordering, starting and ending come one after the other.
 */
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import { afterCommit } from '../db/transact.ts';
import type { EngineReport, TurnFailureKind } from '../engine/protocol.ts';
import type { TurnSummary } from '../pull-request/turn-summary.ts';
import type { ReplicaEvent, ReplicaRow, ReplicaService } from '../replica/service.ts';
import { hostTask } from '../sandbox/host.ts';
import { enqueue } from '../work/enqueue.ts';
import { hasJob } from '../work/has-job.ts';
import { boundedJson } from './bounded-json.ts';
import { type Addressee, isAddressee } from './engine-turns.ts';
import { keepWithin } from './history-bound.ts';
import { insertEntry } from './history-store.ts';
import * as messages from './message-store.ts';
import { presentChat } from './present.ts';
import { type ChatRef, selectChat, updateChat } from './store.ts';
import type { TurnToSend } from './turn-request.ts';
import { userEntry } from './user-entry.ts';

export type TurnReport = Extract<EngineReport, { type: `turn.${string}` }>;
export type Outcome = {
  state: 'completed' | 'failed' | 'interrupted';
  error: string | null;
  failure?: TurnFailureKind | null | undefined;
};
export type EndedTurn = { row: ReplicaRow; messageId: string; outcome: Outcome; summary: TurnSummary };
type Parts = {
  replicas: Pick<ReplicaService, 'emit' | 'emitActivity' | 'noteActivity' | 'noteWorkDone'>;
  /** What the end of a turn tells of repositories and pull requests. */
  summarizeTurn(db: Db, key: { replicaId: string; messageId: string }): Promise<TurnSummary>;
  /** Told of the end of every turn in its transaction. */
  onTurnEnded(db: Db, ended: EndedTurn): Promise<void>;
  /** Whether the agents of a replica may go on; what is queued waits otherwise. */
  mayStart(db: Db, replicaId: string): Promise<boolean>;
  /** What those who watch a turn have to know before anything else. */
  noticeOf(db: Db, key: { organizationId: string; agent: CodingAgent }): Promise<string | null>;
  /** Hands a message to an engine of this host without waiting for a job. */
  handOver(row: Addressee, turn: TurnToSend): void;
  hostId: string;
  now: () => Date;
};
type Chat = ChatRef & { provider: CodingAgent };

export const DISPATCH_TASK = 'chat.dispatch';
export const INTERRUPT_TASK = 'chat.interrupt';
export const FORGET_TASK = 'chat.forget';

const MAX_ENTRY_BYTES = 1_048_576;
/** Streams carry less of a message than the history. */
const MAX_DELTA_BYTES = 65_536;
const DUE_BATCH = 500;
const DUE_AFTER_MS = 15_000;
/** Longer than a message takes to the engine when nothing is in its way. */
const HAND_OVER_MS = 2_000;

const dispatchKey = (replicaId: string) => `${DISPATCH_TASK}:${replicaId}`;

export type Turns = ReturnType<typeof createTurns>;

export function createTurns(parts: Parts) {
  const { replicas, noticeOf, mayStart, now } = parts;

  /** Takes the next message of a chat out of the queue, when none runs in it. */
  async function startNext(db: Db, chat: Chat): Promise<messages.StartedMessage | undefined> {
    if (!(await mayStart(db, chat.replica_id))) return undefined;
    const started = await messages.startFirst(db, chat);
    if (started) await insertEntry(db, historyEntry(chat, started));
    return started;
  }

  /** What a message says stands in the history from the moment it leaves the queue. */
  function historyEntry(
    chat: Chat,
    { id: messageId, text, options }: Pick<messages.StartedMessage, 'id' | 'text' | 'options'>,
  ) {
    const { type, payload } = userEntry(chat.provider, { messageId, text, images: options.images });
    return {
      replica_id: chat.replica_id,
      chat_id: chat.id,
      message_id: messageId,
      at: now(),
      type,
      payload: JSON.stringify(payload),
    };
  }

  /** What is to be done for an active replica: messages to send, and turns to interrupt because their chat is gone. */
  async function takeDue(
    db: Db,
    row: ReplicaRow,
  ): Promise<{ toSend: messages.Turn[]; toInterrupt: messages.Turn[] }> {
    const updated: ReplicaEvent[] = [];
    for (const chatId of await messages.selectIdleChats(db, row.id)) {
      const chat = await selectChat(db, { replicaId: row.id, id: chatId });
      if (!chat || !(await startNext(db, chat))) continue;
      updated.push({ type: 'chat.updated', payload: { chat: presentChat({ ...chat, processing: true }) } });
    }
    await replicas.emit(db, row.id, updated);
    const running = await messages.selectRunning(db, row.id);
    return {
      toSend: running.filter((turn) => turn.sent_at === null && !turn.isChatDeleted),
      toInterrupt: running.filter((turn) => turn.isChatDeleted),
    };
  }

  /** Notes what an engine says of its turns. What does not fit a running turn of this replica is dropped. */
  async function report(db: Db, row: ReplicaRow, { type, payload }: TurnReport): Promise<void> {
    const { turnId: id, chatId } = payload;
    const turn = await messages.selectTurn(db, { replicaId: row.id, id, chatId });
    if (turn?.state !== 'running') return;
    if (type === 'turn.finished') {
      await finish(db, row, turn, {
        state: payload.outcome,
        error: payload.error,
        failure: payload.failure,
      });
      return;
    }
    if (type === 'turn.started') {
      if (turn.started_at === null) await begin(db, row, turn);
      return;
    }
    if (turn.isChatDeleted) return;
    if (type === 'turn.message') await keep(db, row, turn, payload);
    else await emitDelta(db, row, { chatId, event: payload.event });
  }

  async function begin(db: Db, row: ReplicaRow, turn: messages.Turn): Promise<void> {
    const at = now();
    await messages.updateMessages(db, [turn.id], { started_at: at, sent_at: turn.sent_at ?? at });
    if (turn.isChatDeleted) return replicas.noteActivity(db, row);
    const chatId = turn.chat_id;
    const notice = await noticeOf(db, { organizationId: row.organization_id, agent: turn.provider });
    await replicas.emitActivity(db, row, [
      { type: 'chat.turn.started', payload: { chatId, messageId: turn.id } },
      ...(notice === null
        ? []
        : [
            {
              type: 'chat.turn.delta' as const,
              payload: { chatId, event: { type: 'notice', text: notice } },
            },
          ]),
    ]);
  }

  /** A whole message of the agent: the history keeps it, and streams show it like any other piece. */
  async function keep(
    db: Db,
    row: ReplicaRow,
    turn: messages.Turn,
    said: { type: string; payload: Record<string, unknown> },
  ): Promise<void> {
    const at = now();
    const { type } = said;
    const payload = boundedJson(said.payload, MAX_ENTRY_BYTES);
    const entry = { replica_id: row.id, chat_id: turn.chat_id, message_id: turn.id, at, type };
    await keepWithin(db, entry, payload);
    await emitDelta(db, row, { chatId: turn.chat_id, event: { timestamp: at.toISOString(), type, payload } });
  }

  async function emitDelta(
    db: Db,
    row: ReplicaRow,
    { chatId, event }: { chatId: string; event: Record<string, unknown> },
  ): Promise<void> {
    const payload = { chatId, event: boundedJson(event, MAX_DELTA_BYTES) };
    await replicas.emit(db, row.id, [{ type: 'chat.turn.delta', payload }]);
  }

  /** Ends a running turn, lets the next message of its chat follow, and says when nothing is left to do. */
  async function finish(db: Db, row: ReplicaRow, turn: messages.Turn, outcome: Outcome): Promise<void> {
    await messages.updateMessages(db, [turn.id], {
      state: outcome.state,
      error: outcome.error,
      failure: outcome.failure ?? null,
      finished_at: now(),
    });
    const summary = await parts.summarizeTurn(db, { replicaId: row.id, messageId: turn.id });
    const chat = await selectChat(db, { replicaId: row.id, id: turn.chat_id });
    if (chat) {
      const next = row.state === 'active' ? await startNext(db, chat) : undefined;
      const updated = { ...chat, updated_at: now(), processing: next !== undefined };
      await updateChat(db, chat, { updated_at: updated.updated_at });
      await replicas.emit(db, row.id, [
        ...(await endEvents(db, turn, { outcome, summary })),
        { type: 'chat.updated', payload: { chat: presentChat(updated) } },
      ]);
      if (next) await sendStarted(db, row, { ...next, provider: chat.provider });
    }
    await parts.onTurnEnded(db, { row, messageId: turn.id, outcome, summary });
    if (await messages.hasOpen(db, row.id)) await replicas.noteActivity(db, row);
    else await replicas.noteWorkDone(db, row);
  }

  async function endEvents(
    db: Db,
    turn: messages.Turn,
    { outcome, summary }: { outcome: Outcome; summary: TurnSummary },
  ): Promise<ReplicaEvent[]> {
    const { chat_id: chatId } = turn;
    const events: ReplicaEvent[] = [];
    if (outcome.state === 'failed') {
      const message = outcome.error ?? 'The agent failed without a reason.';
      events.push({
        type: 'error',
        payload: {
          code: outcome.failure ?? 'turn_failed',
          message,
          details: { chatId, messageId: turn.id },
        },
      });
    }
    if (outcome.state === 'interrupted') {
      const { queue } = await messages.selectOpen(db, { replica_id: turn.replica_id, id: chatId });
      const payload = { chatId, interrupted: true, queue: queue.map(({ id }) => id) };
      events.push({ type: 'chat.interrupted', payload });
    }
    const isComplete = outcome.state === 'completed';
    const payload = { chatId, isComplete, messageId: turn.id, ...summary };
    events.push({ type: 'chat.turn.completed', payload });
    return events;
  }

  /** The replica's sandbox has started anew: what had not begun in the one before is sent to this one. */
  async function onBooted(db: Db, row: ReplicaRow): Promise<void> {
    await messages.unsendUnstarted(db, row.id);
    if (await messages.hasOpen(db, row.id)) await dispatch(db, row);
  }

  /** The work on running messages is lost: those that had begun fail with the sentence, others are sent again. */
  function failRunning(db: Db, row: ReplicaRow, sentence: string): Promise<void> {
    return endBegun(db, row, { state: 'failed', error: sentence });
  }

  /** The replica was put to sleep: turns that had begun are interrupted, others begin when it wakes. */
  function onSuspended(db: Db, row: ReplicaRow): Promise<void> {
    return endBegun(db, row, { state: 'interrupted', error: null });
  }

  async function endBegun(db: Db, row: ReplicaRow, outcome: Outcome): Promise<void> {
    await messages.unsendUnstarted(db, row.id);
    for (const turn of await messages.selectRunning(db, row.id)) {
      if (turn.started_at) await finish(db, row, turn, outcome);
    }
  }

  /** The replica has failed for good: nothing that waits or runs in it will be worked on. */
  async function giveUp(db: Db, row: ReplicaRow, sentence: string): Promise<void> {
    await messages.failQueued(db, { replicaId: row.id, error: sentence, at: now() });
    for (const turn of await messages.selectRunning(db, row.id)) {
      await finish(db, row, turn, { state: 'failed', error: sentence });
    }
  }

  /**
   * Adds the job that hands messages to the engine, on the host of the sandbox and one at a time for each replica. A
   * later time never puts off a job that waits already.
   */
  async function dispatch(
    db: Db,
    { id, host_id }: Pick<ReplicaRow, 'id' | 'host_id'>,
    again?: { tries: number; runAt: Date },
  ): Promise<void> {
    await enqueue(db, {
      name: hostTask(DISPATCH_TASK, host_id),
      payload: { replica_id: id, tries: again?.tries ?? 0 },
      key: dispatchKey(id),
      keyMode: again ? 'preserve_run_at' : 'replace',
      queue: `chat:${id}`,
      ...(again && { runAt: again.runAt }),
    });
  }

  /**
   * Brings a message that has left the queue in this transaction to the engine as soon as it is committed. It has no job:
   * one is added by `requestUnsent` when the message does not get there.
   */
  async function sendStarted(
    db: Db,
    row: ReplicaRow,
    { provider, ...started }: messages.StartedMessage & { provider: CodingAgent },
  ): Promise<void> {
    if (!isAddressee(row) || row.host_id !== parts.hostId) return dispatch(db, row);
    afterCommit(db, () => parts.handOver(row, { ...started, provider, isChatDeleted: false }));
  }

  async function requestInterrupt(db: Db, row: ReplicaRow, messageId: string): Promise<void> {
    await enqueue(db, {
      name: hostTask(INTERRUPT_TASK, row.host_id),
      payload: { replica_id: row.id, message_id: messageId },
      key: `${INTERRUPT_TASK}:${messageId}`,
      queue: `chat:${row.id}`,
    });
  }

  /** Adds the job that lets the engine forget a deleted chat; a replica that is not awake is not woken for it. */
  async function requestForget(db: Db, row: ReplicaRow, chatId: string): Promise<void> {
    if (row.state !== 'active') return;
    await enqueue(db, {
      name: hostTask(FORGET_TASK, row.host_id),
      payload: { replica_id: row.id, chat_id: chatId },
      key: `${FORGET_TASK}:${chatId}`,
      queue: `chat:${row.id}`,
    });
  }

  /** Adds jobs for messages on this host that should have been handed over and were not, as when the process was killed. */
  async function requestUnsent(db: Db): Promise<void> {
    const before = new Date(now().getTime() - HAND_OVER_MS);
    const { hostId } = parts;
    for (const row of await messages.selectUnsent(db, { hostId, before, limit: DUE_BATCH })) {
      // One that waits counts its own tries.
      if (!(await hasJob(db, dispatchKey(row.id)))) await dispatch(db, row);
    }
  }

  /** Adds the jobs that are missing, whatever became of them; answers how many. */
  async function requestDue(db: Db): Promise<number> {
    const at = now();
    const before = new Date(at.getTime() - DUE_AFTER_MS);
    const due = await messages.selectReplicasDue(db, { before, limit: DUE_BATCH });
    for (const row of due) await dispatch(db, row, { tries: 0, runAt: at });
    return due.length;
  }

  /** Lets what waits in an organization begin, now that it may. What is beyond the batch follows within a minute. */
  async function dispatchWaiting(db: Db, organizationId: string): Promise<void> {
    const before = new Date(now().getTime() + 1);
    const waiting = await messages.selectReplicasDue(db, { before, limit: DUE_BATCH, organizationId });
    for (const row of waiting) await dispatch(db, row);
  }

  return {
    mayStart,
    startNext,
    historyEntry,
    sendStarted,
    takeDue,
    report,
    finish,
    onBooted,
    onSuspended,
    failRunning,
    giveUp,
    dispatch,
    requestInterrupt,
    requestForget,
    requestDue,
    requestUnsent,
    dispatchWaiting,
    find: messages.selectTurn,
    turnOf: messages.selectTurnOf,
    markSent: (db: Db, { id: replicaId, incarnation }: Addressee, id: string) =>
      messages.markSent(db, { replicaId, incarnation, id, at: now() }),
  };
}
