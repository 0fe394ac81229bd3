import pg from 'pg';
import type { Db, Tx } from './database.ts';

/** SQLSTATEs after which the same transaction may simply be run again. */
const transient = new Set(['40001', '40P01']);
const ATTEMPTS = 4;

/** Runs `change` in one transaction, again when it lost a deadlock or a serialization race. */
export async function transact<T>(db: Db, change: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(change);
    } catch (error) {
      const mayRetry = error instanceof pg.DatabaseError && transient.has(error.code ?? '');
      if (!mayRetry || attempt === ATTEMPTS) throw error;
    }
  }
}
