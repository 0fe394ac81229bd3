import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { EngineUnreachableError } from '../sandbox/engine-client.ts';
import { hostTask } from '../sandbox/host.ts';
import type { SandboxService } from '../sandbox/service.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import { retryDelayMs, type Verdict, verdictOf } from './delivery.ts';
import { type Addressee, createEngineTurns, isAddressee } from './engine-turns.ts';
import { createLostTurns, LOST_TASK } from './lost-turns.ts';
import type { Turn } from './message-store.ts';
import type { ChatService } from './service.ts';
import type { ComposeTurn } from './turn-request.ts';
import { DISPATCH_TASK, FORGET_TASK, INTERRUPT_TASK, type Outcome } from './turns.ts';

type Parts = {
  db: Db;
  chats: Pick<ChatService, 'turns'>;
  replicas: Pick<ReplicaService, 'lock' | 'read' | 'emit'>;
  sandboxes: Pick<SandboxService, 'command' | 'find' | 'inspect' | 'hostId'>;
  composeTurn: ComposeTurn;
  now: () => Date;
};

const INSTALLING_MS = 1_000;
const INTERRUPTED: Outcome = { state: 'interrupted', error: null };

/** Hands running messages to engines. Jobs of one replica come one after the other, on the host of its sandbox. */
export function chatTasks({ db, chats: { turns }, replicas, sandboxes, composeTurn, now }: Parts): Tasks {
  const engine = createEngineTurns({ db, sandboxes });
  const announced = new Set<string>();
  const lost = createLostTurns({ db, turns, replicas, engine, now });

  async function dispatch(replicaId: string, tries: number, context: TaskContext): Promise<void> {
    const due = await transact(db, async (tx) => {
      const row = await replicas.lock(tx, replicaId);
      return isAddressee(row) ? { row, ...(await turns.takeDue(tx, row)) } : null;
    });
    if (!due) return;
    const { row } = due;
    const sent = due.toSend.map((turn) => deliver(row, turn, { tries, context }));
    const ended = due.toInterrupt.map((turn) => interrupt(row, turn, context));
    const verdicts = await Promise.all([...sent, ...ended]);
    if (verdicts.includes('installing') && !verdicts.includes('later')) {
      await turns.dispatch(db, row, { tries, runAt: new Date(now().getTime() + INSTALLING_MS) });
      return;
    }
    if (!verdicts.includes('later')) return;
    const waitMs = retryDelayMs(tries);
    // Whoever cannot be reached for so long is found lost, and its successor is sent the messages.
    if (waitMs === null) return;
    const runAt = new Date(now().getTime() + waitMs);
    await turns.dispatch(db, row, { tries: tries + 1, runAt });
  }

  async function deliver(
    row: Addressee,
    turn: Turn,
    { tries, context }: { tries: number; context: TaskContext },
  ): Promise<Verdict> {
    const composed = await composeTurn(db, turn, context.signal);
    if (composed === 'installing') {
      await announceInstalling(row, turn);
      return composed;
    }
    announced.delete(turn.id);
    if ('refusal' in composed) {
      await end(row, turn.id, { state: 'failed', error: composed.refusal });
      return 'refused';
    }
    const answer = await engine.send(row, composed.request, context);
    if (answer === null) return 'later';
    const { status, reason } = answer;
    const verdict = verdictOf(status);
    if (verdict === 'taken') {
      await transact(db, async (tx) => {
        const held = await replicas.lock(tx, row.id);
        // A sandbox that has started anew since then knows nothing of it.
        if (held?.incarnation === row.incarnation) await turns.markSent(tx, turn.id);
      });
      return verdict;
    }
    context.log.warn({ replicaId: row.id, messageId: turn.id, status, tries }, 'chat.turn_not_taken');
    if (verdict === 'later' && retryDelayMs(tries) !== null) return verdict;
    const said = reason === null ? '' : ` It says: ${reason}`;
    const error = `The engine did not take the message (it answered ${status}); send it again.${said}`;
    await end(row, turn.id, { state: 'failed', error });
    return 'refused';
  }

  /** Those who watch are told once why nothing happens. */
  async function announceInstalling(row: Addressee, { id, chat_id: chatId, provider }: Turn): Promise<void> {
    if (announced.has(id)) return;
    announced.add(id);
    const text = `${provider} is being installed on this machine, which happens once and takes a minute or so.`;
    const payload = { chatId, event: { type: 'notice', text } };
    await transact(db, async (tx) => {
      await replicas.lock(tx, row.id);
      await replicas.emit(tx, row.id, [{ type: 'chat.turn.delta', payload }]);
    });
  }

  /** What the engine has is ended by the engine, and reported by it; what it does not know ends here. */
  async function interrupt(row: Addressee, turn: Turn, context: TaskContext): Promise<Verdict> {
    const isInterrupted = await engine.interrupt(row, turn.id, context);
    if (isInterrupted === null) return 'later';
    if (isInterrupted) return 'taken';
    const info = await engine.inspect(row, context);
    if (!info) return 'later';
    // Its agent is done, and its end is about to be reported.
    if (info.turns?.includes(turn.id)) return 'taken';
    // What the engine said of its end may be on its way, and then counts.
    await engine.flush(row, context);
    await end(row, turn.id, INTERRUPTED);
    return 'taken';
  }

  async function interruptOne(
    { replica_id, message_id }: { replica_id: string; message_id: string },
    context: TaskContext,
  ): Promise<void> {
    const found = await transact(db, async (tx) => {
      const row = await replicas.lock(tx, replica_id);
      const turn = await turns.find(tx, { replicaId: replica_id, id: message_id });
      if (!row || turn?.state !== 'running') return null;
      if (isAddressee(row)) return { row, turn };
      if (isBetween(row)) throw new Error('the replica is on its way to another state');
      // No engine works on it.
      await turns.finish(tx, row, turn, INTERRUPTED);
      return null;
    });
    if (!found) return;
    const verdict = await interrupt(found.row, found.turn, context);
    if (verdict === 'later') throw new EngineUnreachableError('The engine cannot be reached.');
  }

  async function forget(
    { replica_id, chat_id }: { replica_id: string; chat_id: string },
    context: TaskContext,
  ): Promise<void> {
    const row = await replicas.read(db, replica_id);
    if (isAddressee(row)) await engine.forgetChat(row, chat_id, context);
  }

  async function end(row: ReplicaRow, messageId: string, outcome: Outcome): Promise<void> {
    announced.delete(messageId);
    await transact(db, async (tx) => {
      const held = await replicas.lock(tx, row.id);
      const turn = await turns.find(tx, { replicaId: row.id, id: messageId });
      if (held && turn?.state === 'running') await turns.finish(tx, held, turn, outcome);
    });
  }

  const { hostId } = sandboxes;
  return [
    defineTask({
      name: hostTask(DISPATCH_TASK, hostId),
      payload: z.object({ replica_id: z.guid(), tries: z.int().min(0) }),
      run: ({ replica_id, tries }, context) => dispatch(replica_id, tries, context),
    }),
    defineTask({
      name: hostTask(INTERRUPT_TASK, hostId),
      payload: z.object({ replica_id: z.guid(), message_id: z.guid() }),
      run: interruptOne,
    }),
    defineTask({
      name: hostTask(FORGET_TASK, hostId),
      payload: z.object({ replica_id: z.guid(), chat_id: z.guid() }),
      run: forget,
    }),
    defineTask({
      name: hostTask(LOST_TASK, hostId),
      payload: z.object({ replica_id: z.guid() }),
      run: ({ replica_id }, context) => lost.endLost(replica_id, context),
    }),
    defineTask({
      name: 'chat.dispatch_due',
      payload: z.object({}),
      run: async (_payload, { log }) => {
        const asked = await turns.requestDue(db);
        const checked = await lost.requestChecks();
        log.debug({ asked, checked }, 'chat.dispatches_due');
      },
    }),
  ];
}

export const chatSchedule: readonly Schedule[] = [{ name: 'chat.dispatch_due', cron: '* * * * *' }];

function isBetween({ state }: ReplicaRow): boolean {
  return state === 'preparing' || state === 'waking' || state === 'falling_asleep' || state === 'archiving';
}
