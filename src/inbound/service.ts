import type { Db } from '../db/database.ts';
import { deleteDeliveries, type InboundDelivery, insertDelivery } from './store.ts';

/** Nobody sends a delivery again after so long. */
const KEPT_MS = 30 * 86_400_000;
const DELETED_AT_ONCE = 5_000;

export type InboundService = ReturnType<typeof createInboundService>;

/** Remembers which deliveries from outside were taken. */
export function createInboundService({ now }: { now: () => Date }) {
  /** Whether the delivery is new. Then it is taken with the transaction of `db`: what becomes of it belongs there too. */
  function takeOnce(db: Db, delivery: InboundDelivery): Promise<boolean> {
    return insertDelivery(db, delivery);
  }

  /** Forgets old deliveries, in steps that hold no lock for long. */
  async function trim(db: Db, signal: AbortSignal): Promise<void> {
    const before = new Date(now().getTime() - KEPT_MS);
    let deleted = DELETED_AT_ONCE;
    while (deleted === DELETED_AT_ONCE && !signal.aborted) {
      deleted = await deleteDeliveries(db, { before, limit: DELETED_AT_ONCE });
    }
  }

  return { takeOnce, trim };
}
