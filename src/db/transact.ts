import pg from 'pg';
import type { Db, Tx } from './database.ts';

/** SQLSTATEs after which the same transaction may simply be run again. */
const transient = new Set(['40001', '40P01']);
const ATTEMPTS = 4;

type Effect = () => void;

/** What waits for the commit of each transaction. */
const effectsOf = new WeakMap<Db, Effect[]>();

/** Runs `change` in one transaction, again when it lost a deadlock or a serialization race. */
export async function transact<T>(db: Db, change: (tx: Tx) => Promise<T>): Promise<T> {
  const { result, effects } = await commit(db, change);
  for (const effect of effects) effect();
  return result;
}

/**
 * Runs `effect` once after the transaction that `db` is has been committed, and never when it is rolled back. Outside
 * of a transaction it runs at once. An effect must not throw: what is committed stays so.
 */
export function afterCommit(db: Db, effect: Effect): void {
  const effects = effectsOf.get(db);
  if (effects) effects.push(effect);
  else effect();
}

async function commit<T>(db: Db, change: (tx: Tx) => Promise<T>): Promise<{ result: T; effects: Effect[] }> {
  for (let attempt = 1; ; attempt++) {
    const effects: Effect[] = [];
    try {
      const result = await db.transaction().execute((tx) => {
        effectsOf.set(tx, effects);
        return change(tx);
      });
      return { result, effects };
    } catch (error) {
      const mayRetry = error instanceof pg.DatabaseError && transient.has(error.code ?? '');
      if (!mayRetry || attempt === ATTEMPTS) throw error;
    }
  }
}
