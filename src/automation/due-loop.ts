import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import { createLoop, type Loop } from '../work/loop.ts';

type Parts<Due> = {
  name: string;
  db: Db;
  log: Logger;
  now: () => Date;
  /** A look that holds nothing, since mostly nothing is due. */
  hasDue(db: Db, at: Date): Promise<boolean>;
  /** Takes what is due and nobody else holds. */
  take(db: Db, wanted: { at: Date; limit: number }): Promise<Due[]>;
  /** Does what is due, in the transaction in which it was taken. */
  perform(db: Db, due: Due, at: Date): Promise<void>;
  /** Puts off what could not be done. */
  postpone(db: Db, due: Due, until: Date): Promise<void>;
};

const INTERVAL_MS = 1_000;
const AT_ONCE = 100;
const POSTPONED_MS = 10_000;

/**
 * Does what has become due, each second and in every process. What is taken is held until it is done, so nothing is done
 * twice, and a process that is killed leaves it to another one.
 */
export function createDueLoop<Due>(parts: Parts<Due>): Loop {
  const { name, db, log, now, hasDue, take, perform, postpone } = parts;

  async function run(signal: AbortSignal): Promise<void> {
    // What is due at the beginning of a round is in time, however many others are done before it.
    const at = now();
    while (!signal.aborted && (await hasDue(db, at))) {
      const taken = await performMany(at).catch((error) => performEach(at, { reason: error, signal }));
      if (taken < AT_ONCE) return;
    }
  }

  function performMany(at: Date): Promise<number> {
    return transact(db, async (tx) => {
      const dues = await take(tx, { at, limit: AT_ONCE });
      for (const due of dues) await perform(tx, due, at);
      return dues.length;
    });
  }

  /** One that cannot be done must not hold up others, and cannot be told from them while they share a transaction. */
  async function performEach(
    at: Date,
    { reason, signal }: { reason: unknown; signal: AbortSignal },
  ): Promise<number> {
    log.warn({ loop: name, err: reason }, 'due.one_by_one');
    for (let count = 0; count < AT_ONCE && !signal.aborted; count++) {
      if (!(await performOne(at))) return count;
    }
    return AT_ONCE;
  }

  async function performOne(at: Date): Promise<boolean> {
    let due: Due | undefined;
    try {
      await transact(db, async (tx) => {
        [due] = await take(tx, { at, limit: 1 });
        if (due !== undefined) await perform(tx, due, at);
      });
    } catch (error) {
      if (due === undefined) throw error;
      log.error({ loop: name, err: error }, 'due.postponed');
      await postpone(db, due, new Date(now().getTime() + POSTPONED_MS));
    }
    return due !== undefined;
  }

  return createLoop({ name, intervalMs: INTERVAL_MS, run, log });
}
