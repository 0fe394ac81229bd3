import type { Db } from '../db/database.ts';
import { deleteOldest, selectOverfull } from './trim-store.ts';

const KEPT_EVENTS = 5_000;
const KEPT_MS = 7 * 86_400_000;
const REPLICAS_AT_ONCE = 500;
const EVENTS_AT_ONCE = 5_000;

/** Removes what is no longer kept of the events of every replica, in steps that hold no lock for long. */
export async function trimEvents(db: Db, at: Date, signal: AbortSignal): Promise<void> {
  const kept = { count: KEPT_EVENTS, since: new Date(at.getTime() - KEPT_MS) };
  let after: string | null = null;
  while (!signal.aborted) {
    const { last, overfull } = await selectOverfull(db, { ...kept, after, limit: REPLICAS_AT_ONCE });
    for (const replicaId of overfull) {
      let deleted = EVENTS_AT_ONCE;
      while (deleted === EVENTS_AT_ONCE && !signal.aborted) {
        deleted = await deleteOldest(db, { ...kept, replicaId, limit: EVENTS_AT_ONCE });
      }
    }
    if (last === null) return;
    after = last;
  }
}
