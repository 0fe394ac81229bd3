import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { EngineUnreachableError } from '../sandbox/engine-client.ts';
import { hostTask } from '../sandbox/host.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import { type EngineTurns, isAddressee } from './engine-turns.ts';
import type { HandOver } from './hand-over.ts';
import { createLostTurns, LOST_TASK } from './lost-turns.ts';
import type { ChatService } from './service.ts';
import { DISPATCH_TASK, FORGET_TASK, INTERRUPT_TASK } from './turns.ts';

type Parts = {
  db: Db;
  chats: Pick<ChatService, 'turns'>;
  replicas: Pick<ReplicaService, 'lock' | 'read'>;
  engine: EngineTurns;
  handOver: HandOver;
  hostId: string;
  now: () => Date;
};

/** What is to be done for the chats of a replica. It comes one after the other, on the host of its sandbox. */
export function chatTasks({ db, chats: { turns }, replicas, engine, handOver, hostId, now }: Parts): Tasks {
  const lost = createLostTurns({ db, turns, replicas, engine, now });

  async function dispatch(replicaId: string, tries: number, context: TaskContext): Promise<void> {
    const due = await transact(db, async (tx) => {
      const row = await replicas.lock(tx, replicaId);
      return isAddressee(row) ? { row, ...(await turns.takeDue(tx, row)) } : null;
    });
    if (due) await handOver.bring(due.row, due, { tries, asking: context });
  }

  async function interrupt(replicaId: string, messageId: string, context: TaskContext): Promise<void> {
    const found = await transact(db, async (tx) => {
      const row = await replicas.lock(tx, replicaId);
      const turn = await turns.find(tx, { replicaId, id: messageId });
      if (!row || turn?.state !== 'running') return null;
      if (isAddressee(row)) return { row, turn };
      if (isBetween(row)) throw new Error('the replica is on its way to another state');
      // No engine works on it.
      await turns.finish(tx, row, turn, { state: 'interrupted', error: null });
      return null;
    });
    if (!found) return;
    const verdict = await handOver.interrupt(found.row, found.turn, context);
    if (verdict === 'later') throw new EngineUnreachableError('The engine cannot be reached.');
  }

  async function forget(replicaId: string, chatId: string, context: TaskContext): Promise<void> {
    const row = await replicas.read(db, replicaId);
    if (isAddressee(row)) await engine.forgetChat(row, chatId, context);
  }

  return [
    defineTask({
      name: hostTask(DISPATCH_TASK, hostId),
      payload: z.object({ replica_id: z.guid(), tries: z.int().min(0) }),
      run: ({ replica_id: id, tries }, context) => handOver.inLane(id, () => dispatch(id, tries, context)),
    }),
    defineTask({
      name: hostTask(INTERRUPT_TASK, hostId),
      payload: z.object({ replica_id: z.guid(), message_id: z.guid() }),
      run: ({ replica_id: id, message_id }, context) =>
        handOver.inLane(id, () => interrupt(id, message_id, context)),
    }),
    defineTask({
      name: hostTask(FORGET_TASK, hostId),
      payload: z.object({ replica_id: z.guid(), chat_id: z.guid() }),
      run: ({ replica_id: id, chat_id }, context) => handOver.inLane(id, () => forget(id, chat_id, context)),
    }),
    defineTask({
      name: hostTask(LOST_TASK, hostId),
      payload: z.object({ replica_id: z.guid() }),
      run: ({ replica_id: id }, context) => handOver.inLane(id, () => lost.endLost(id, context)),
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
