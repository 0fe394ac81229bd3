import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { ReplicaService } from '../replica/service.ts';
import { hostTask } from '../sandbox/host.ts';
import { enqueue } from '../work/enqueue.ts';
import type { TaskContext } from '../work/task.ts';
import { type Addressee, type EngineTurns, isAddressee } from './engine-turns.ts';
import { selectReplicasAtWork } from './lost-store.ts';
import { selectRunning } from './message-store.ts';
import type { Outcome, Turns } from './turns.ts';

type Parts = {
  db: Db;
  turns: Pick<Turns, 'find' | 'finish'>;
  replicas: Pick<ReplicaService, 'lock' | 'read'>;
  engine: EngineTurns;
  now: () => Date;
};

export const LOST_TASK = 'chat.end_lost';

/** What an engine has had for less is not asked for. */
const SENT_FOR_MS = 60_000;
const REPLICAS_AT_ONCE = 500;
const LOST: Outcome = { state: 'failed', error: "The agent's work on this message was lost." };

/**
 * Ends turns that no engine works on any more, because what it said of their end was refused or its journal is gone.
 * Without that their chats would wait, and their replicas be active, for ever.
 */
export function createLostTurns({ db, turns, replicas, engine, now }: Parts) {
  const sentBefore = () => new Date(now().getTime() - SENT_FOR_MS);

  /** Adds a job for each replica in which a turn has run for a while, on the host of its sandbox; answers how many. */
  async function requestChecks(): Promise<number> {
    const wanted = { sentBefore: sentBefore(), limit: REPLICAS_AT_ONCE };
    let asked = 0;
    let after: string | null = null;
    do {
      const page = await selectReplicasAtWork(db, { ...wanted, after });
      for (const { id, host_id } of page) {
        await enqueue(db, {
          name: hostTask(LOST_TASK, host_id),
          payload: { replica_id: id },
          key: `${LOST_TASK}:${id}`,
          queue: `chat:${id}`,
        });
      }
      asked += page.length;
      after = page.length < REPLICAS_AT_ONCE ? null : (page.at(-1)?.id ?? null);
    } while (after);
    return asked;
  }

  async function endLost(replicaId: string, context: TaskContext): Promise<void> {
    const row = await replicas.read(db, replicaId);
    if (!isAddressee(row)) return;
    const before = sentBefore();
    const running = await selectRunning(db, row.id);
    const sent = running.filter(({ sent_at }) => sent_at !== null && sent_at < before);
    const missing = await unknownOf(
      row,
      sent.map(({ id }) => id),
      context,
    );
    // What the engine said of their end may be on its way.
    if (missing.length === 0 || !(await engine.flush(row, context))) return;
    for (const id of await unknownOf(row, missing, context)) {
      context.log.warn({ replicaId, messageId: id }, 'chat.turn_lost');
      await end(row, id);
    }
  }

  /** Those of the turns that the engine does not know; none when it does not say. */
  async function unknownOf(
    row: Addressee,
    ids: readonly string[],
    context: TaskContext,
  ): Promise<readonly string[]> {
    if (ids.length === 0) return ids;
    const inWork = (await engine.inspect(row, context))?.turns;
    return inWork ? ids.filter((id) => !inWork.includes(id)) : [];
  }

  async function end(row: Addressee, id: string): Promise<void> {
    await transact(db, async (tx) => {
      const held = await replicas.lock(tx, row.id);
      // A sandbox that has started anew since then says itself what became of the turn.
      if (held?.incarnation !== row.incarnation) return;
      const turn = await turns.find(tx, { replicaId: row.id, id });
      if (turn?.state === 'running') await turns.finish(tx, held, turn, LOST);
    });
  }

  return { requestChecks, endLost };
}
