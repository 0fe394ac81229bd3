import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';
import { startSweep } from './dead-workers.ts';
import { migrateWork } from './migrate.ts';
import { guardPool } from './pool-guard.ts';
import { type Schedule, toCronItems } from './schedule.ts';
import { type Shift, startShift } from './shift.ts';
import type { Tasks } from './task.ts';
import { createUpkeep } from './upkeep.ts';

export type Workers = {
  /** The id under which jobs are locked at this moment. */
  readonly workerId: string;
  /** Ends within about `graceMs` + `windDownMs`; a second call waits for the first. */
  stop(): Promise<void>;
};

export type WorkersOptions = {
  /** Needs `concurrency` connections or fewer, and always two more: one listens, one holds the worker's lock. */
  pool: Pool;
  log: Logger;
  tasks: Tasks;
  schedule?: readonly Schedule[];
  /** How many jobs run at the same time in this process. */
  concurrency?: number;
  pollIntervalMs?: number;
  sweepIntervalMs?: number;
  /** How long `stop` waits for running jobs before it aborts their signals. */
  graceMs?: number;
  /** How long aborted tasks may take to end before their jobs are handed back under them. */
  windDownMs?: number;
};

const RESTART_DELAYS_MS = [0, 250, 1_000, 2_000, 5_000] as const;

/** Runs jobs until it is stopped, through losses of the database. Throws when the first start fails. */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const { pool, log, tasks, graceMs = 10_000 } = options;
  const shiftOptions = {
    pool,
    log,
    tasks,
    cronItems: toCronItems(options.schedule ?? [], tasks),
    concurrency: options.concurrency ?? 10,
    pollIntervalMs: options.pollIntervalMs ?? 200,
    windDownMs: options.windDownMs ?? 2_000,
  };
  guardPool(pool, log);
  const stopping = new AbortController();
  const stopRequested = new Promise<undefined>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  let workerId = '';

  async function begin(): Promise<Shift> {
    const shift = await startShift(shiftOptions);
    workerId = shift.workerId;
    log.info({ workerId, tasks: tasks.map((task) => task.name) }, 'worker started');
    return shift;
  }

  async function beginAgain(): Promise<Shift | undefined> {
    for (let tries = 0; !stopping.signal.aborted; tries++) {
      const waitMs = RESTART_DELAYS_MS[Math.min(tries, RESTART_DELAYS_MS.length - 1)];
      await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return undefined;
      try {
        return await begin();
      } catch (error) {
        log.error({ err: describeError(error) }, 'worker did not start again');
      }
    }
    return undefined;
  }

  async function work(first: Shift): Promise<void> {
    let shift: Shift | undefined = first;
    while (shift) {
      const reason = await Promise.race([shift.over, stopRequested]);
      if (reason === undefined) return shift.close(graceMs);
      log.error({ workerId: shift.workerId, reason }, 'worker ended; it goes on under a new id');
      await shift.close(0);
      shift = await beginAgain();
    }
  }

  await migrateWork(pool, log);
  const working = work(await begin());
  const sweep = startSweep({ pool, log, intervalMs: options.sweepIntervalMs ?? 1_500 });
  const upkeep = createUpkeep({ pool, log });
  upkeep.start();
  let stopped: Promise<unknown> | undefined;
  return {
    get workerId() {
      return workerId;
    },
    async stop() {
      stopping.abort();
      stopped ??= Promise.all([working, sweep.stop(), upkeep.stop()]);
      await stopped;
    },
  };
}
