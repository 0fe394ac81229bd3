import { notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import { publicStatus, type ReplicaState } from './lifecycle.ts';
import type { ReplicaRow, ReplicaService } from './service.ts';

/** Wakes a replica that sleeps, because somebody reads what is of it; others, also archived ones, stay as they are. */
export async function wakeIfAsleep(
  db: Db,
  replicas: Pick<ReplicaService, 'lock' | 'request'>,
  row: ReplicaRow,
): Promise<ReplicaRow> {
  if (!sleeps(row.state)) return row;
  return transact(db, async (tx) => {
    const held = await replicas.lock(tx, row.id);
    if (!held || publicStatus[held.state] === null) throw notFound('Replica');
    return sleeps(held.state) ? replicas.request(tx, held, 'wake') : held;
  });
}

function sleeps(state: ReplicaState): boolean {
  return state === 'sleeping' || state === 'falling_asleep';
}
