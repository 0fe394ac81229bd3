/*
 * A shift is the life of one worker id in this process: take the lock, work, end. When the lock is lost the shift is
 * over, and the process goes on with the next one under a new id.
 */
import { EventEmitter } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { type ParsedCronItem, type Runner, run, type WorkerEvents, type WorkerPool } from 'graphile-worker';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';
import { toGraphileLogger } from './graphile-log.ts';
import { createPerformer, type Performer } from './perform.ts';
import { createSettler, type Settler } from './settle.ts';
import type { Tasks } from './task.ts';
import { takeWorkerLock, type WorkerLock } from './worker-lock.ts';

export type ShiftOptions = {
  pool: Pool;
  log: Logger;
  tasks: Tasks;
  cronItems: ParsedCronItem[];
  concurrency: number;
  pollIntervalMs: number;
  /** How long aborted tasks may take to end before their jobs are handed back under them. */
  windDownMs: number;
};

export type Shift = {
  workerId: string;
  /** Resolves with the reason when the shift can no longer work; it must be closed then. */
  over: Promise<string>;
  /** Takes no more jobs, waits `graceMs` for the running ones, aborts the rest, hands them back, frees the lock. */
  close(graceMs: number): Promise<void>;
};

/** The library never recovers from an error in its first look for jobs, so that look decides whether it started. */
const FIRST_LOOK_MS = 10_000;
/** Bounds the library's own end when the database does not answer. */
const LIBRARY_END_MS = 10_000;
/** How long a job may wait here for a free worker before other processes may have it. */
const LOCAL_QUEUE_TTL_MS = 250;
const RENEW_INTERVAL_MS = 60 * 60_000;

export async function startShift(options: ShiftOptions): Promise<Shift> {
  const lock = await takeWorkerLock({ pool: options.pool });
  const log = options.log.child({ workerId: lock.workerId });
  const settler = createSettler({ pool: options.pool, workerId: lock.workerId });
  let onQueueFreed = () => {};
  const performer = createPerformer({
    tasks: options.tasks,
    settler,
    log,
    onQueueFreed: () => onQueueFreed(),
  });
  lock.lost.addEventListener('abort', () => performer.interrupt(lock.lost.reason), { once: true });
  try {
    const { runner, workerPool, looked } = await startLibrary({ ...options, log, lock, performer });
    onQueueFreed = () => workerPool.nudge(1);
    const parts = { ...options, log, lock, settler, performer, runner, workerPool };
    const over = Promise.race([
      aborted(lock.lost).then(() => 'lock lost'),
      workerPool.promise.then(
        () => 'worker pool ended',
        (error) => `worker pool failed: ${error}`,
      ),
    ]);
    const start = await Promise.race([
      looked.then(() => 'looked'),
      over,
      delay(FIRST_LOOK_MS, 'no look for jobs', { ref: false }),
    ]);
    if (start !== 'looked') {
      await closeShift(parts, 0);
      throw new Error(`The worker did not start: ${start}.`);
    }
    const renewal = setInterval(() => renew(settler, log), RENEW_INTERVAL_MS);
    renewal.unref();
    return {
      workerId: lock.workerId,
      over,
      async close(graceMs) {
        clearInterval(renewal);
        await closeShift(parts, graceMs);
      },
    };
  } catch (error) {
    lock.release();
    throw error;
  }
}

type Parts = ShiftOptions & {
  lock: WorkerLock;
  settler: Settler;
  performer: Performer;
  runner: Runner;
  workerPool: WorkerPool;
};

async function startLibrary(
  options: ShiftOptions & { lock: WorkerLock; performer: Performer },
): Promise<{ runner: Runner; workerPool: WorkerPool; looked: Promise<void> }> {
  const { lock, concurrency } = options;
  const events: WorkerEvents = new EventEmitter();
  const created: WorkerPool[] = [];
  // The library locks jobs under the id of its pool, which it makes up itself. The pool announces itself before it
  // looks for jobs, and that is the moment to give it the id whose lock we hold.
  events.on('pool:create', ({ workerPool }) => {
    workerPool.id = lock.workerId;
    created.push(workerPool);
  });
  const looked = new Promise<void>((resolve) => events.once('localQueue:getJobs:complete', () => resolve()));
  const runner = await run({
    pgPool: options.pool,
    taskList: options.performer.taskList,
    parsedCronItems: options.cronItems,
    logger: toGraphileLogger(options.log),
    events,
    noHandleSignals: true,
    concurrency,
    pollInterval: options.pollIntervalMs,
    preset: {
      worker: {
        localQueue: { size: concurrency * 4, ttl: LOCAL_QUEUE_TTL_MS },
        // Without batches the library leaves these promises unhandled, and a database error ends the process.
        completeJobBatchDelay: 5,
        failJobBatchDelay: 0,
      },
    },
  });
  runner.promise.catch(() => undefined);
  const workerPool = created[0];
  if (workerPool?.id !== lock.workerId) {
    await runner.stop();
    throw new Error('The job library did not take the worker id that it was given.');
  }
  return { runner, workerPool, looked };
}

async function closeShift(parts: Parts, graceMs: number): Promise<void> {
  const { performer, settler, runner, workerPool, lock, log } = parts;
  const libraryEnd = runner.stop().catch(() => undefined);
  if (!lock.lost.aborted) await Promise.race([performer.idle(graceMs), aborted(lock.lost)]);
  performer.interrupt(new Error('The worker stops.'));
  await performer.idle(parts.windDownMs);
  const left = performer.running();
  performer.abandon();
  if (left.length > 0) {
    log.error({ jobs: left }, 'tasks ignore their abort signal; their jobs are handed back while they run');
    await settler.handBack(left.map((job) => job.id)).catch(() => undefined);
    await Promise.resolve(workerPool.forcefulShutdown('The worker stops.')).catch(() => undefined);
  }
  await Promise.race([libraryEnd, delay(LIBRARY_END_MS, undefined, { ref: false })]);
  lock.release();
}

function renew(settler: Settler, log: Logger): void {
  settler
    .renew()
    .catch((error) => log.warn({ err: describeError(error) }, 'locks of running jobs not renewed'));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
