import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { enqueue } from '../work/enqueue.ts';
import { defineTask, type Tasks } from '../work/task.ts';
import { belongings, clearRecord, deleteHookOutput, deleteSome, isDeleted } from './purge-store.ts';

export const PURGE_TASK = 'replica.purge';

/** Until then, who follows the replica can still read of its end. */
const PURGE_AFTER_MS = 60_000;
/** Single rows may hold megabytes. */
const ROWS_AT_ONCE = 100;

/** Asks for the purge of a replica that is deleted; `at` is the moment of its end. */
export async function requestPurge(
  db: Db,
  { replicaId, at }: { replicaId: string; at: Date },
): Promise<void> {
  await enqueue(db, {
    name: PURGE_TASK,
    payload: { replica_id: replicaId },
    key: `${PURGE_TASK}:${replicaId}`,
    runAt: new Date(at.getTime() + PURGE_AFTER_MS),
  });
}

export function purgeTasks({ db }: { db: Db }): Tasks {
  return [
    defineTask({
      name: PURGE_TASK,
      payload: z.object({ replica_id: z.guid() }),
      run: ({ replica_id }, { signal }) => purge(db, replica_id, signal),
    }),
  ];
}

/**
 * Removes what was said, made and noted in a replica that is deleted, in steps that hold no lock for long. Its row and
 * the names of its repositories stay, since it may be deleted again and its bill is to be explained.
 */
export async function purge(db: Db, replicaId: string, signal: AbortSignal): Promise<void> {
  if (!(await isDeleted(db, replicaId))) return;
  await clearRecord(db, replicaId);
  const wanted = { replicaId, limit: ROWS_AT_ONCE };
  await untilNone(() => deleteHookOutput(db, wanted), signal);
  for (const table of belongings) await untilNone(() => deleteSome(db, { ...wanted, table }), signal);
}

async function untilNone(deleteNext: () => Promise<number>, signal: AbortSignal): Promise<void> {
  do signal.throwIfAborted();
  while ((await deleteNext()) > 0);
}
