import { setTimeout as delay } from 'node:timers/promises';
import type { JobHelpers, TaskList } from 'graphile-worker';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';
import type { Settler } from './settle.ts';
import { PermanentError, type Task, type TaskContext, type Tasks } from './task.ts';

type LibraryJob = JobHelpers['job'];

/** `overtaken` ended well, but after its worker was taken for dead: the job runs, or ran, a second time elsewhere. */
type Outcome = 'done' | 'retrying' | 'failed' | 'interrupted' | 'overtaken';

const LEVELS = {
  done: 'info',
  interrupted: 'info',
  retrying: 'warn',
  failed: 'error',
  overtaken: 'error',
} as const satisfies Record<Outcome, string>;

export type Performer = {
  taskList: TaskList;
  /** The jobs whose tasks have not ended. */
  running(): { id: string; name: string }[];
  /** Waits until no task runs, or the time is over. */
  idle(timeoutMs: number): Promise<void>;
  /** Aborts every running task, and every later one at its start. */
  interrupt(reason: Error): void;
  /** From here on no task that still runs is reported to the library, which has ended. */
  abandon(): void;
};

/** Runs tasks for the library: parses, measures, logs one line per job and settles it in the tables. */
export function createPerformer(options: {
  tasks: Tasks;
  settler: Settler;
  log: Logger;
  /** Called when the next job of a queue may start, which the library would notice at its next poll only. */
  onQueueFreed(): void;
}): Performer {
  const { tasks, settler, log } = options;
  const runs = new Map<string, { name: string; abort: AbortController; ended: Promise<unknown> }>();
  let interruption: Error | undefined;
  let abandoned = false;

  async function perform(task: Task, job: LibraryJob): Promise<void> {
    const id = String(job.id);
    const abort = new AbortController();
    if (interruption) abort.abort(interruption);
    const run = attempt({ task, job, id, signal: abort.signal });
    runs.set(id, { name: task.name, abort, ended: run });
    const { outcome, error } = await run;
    runs.delete(id);
    if (job.job_queue_id !== null && outcome !== 'retrying') options.onQueueFreed();
    if (abandoned) await new Promise(() => {});
    // The library then records a failure, which changes nothing in a row that is settled already.
    if (outcome !== 'done') throw error;
  }

  async function attempt(given: {
    task: Task;
    job: LibraryJob;
    id: string;
    signal: AbortSignal;
  }): Promise<{ outcome: Outcome; error?: unknown }> {
    const { task, job, id, signal } = given;
    const fields = { job: task.name, jobId: id, attempt: job.attempts, maxAttempts: job.max_attempts };
    const startedAt = performance.now();
    const result = await settle(given, log.child(fields)).catch((error) => ({
      outcome: (job.attempts < job.max_attempts ? 'retrying' : 'failed') as Outcome,
      error,
    }));
    const ms = Math.round(performance.now() - startedAt);
    const err = result.error === undefined ? {} : { err: describeError(result.error) };
    log[LEVELS[result.outcome]](
      { ...fields, ms, outcome: result.outcome, aborted: signal.aborted, ...err },
      'job',
    );
    return result;
  }

  async function settle(
    { task, job, id, signal }: { task: Task; job: LibraryJob; id: string; signal: AbortSignal },
    jobLog: Logger,
  ): Promise<{ outcome: Outcome; error?: unknown }> {
    try {
      signal.throwIfAborted();
      const { payload, firedAt } = splitPayload(job.payload);
      const context: TaskContext = {
        signal,
        attempt: job.attempts,
        maxAttempts: job.max_attempts,
        log: jobLog,
      };
      await task.run(payload, firedAt ? { ...context, firedAt } : context);
    } catch (error) {
      if (signal.aborted) {
        await settler.handBack([id]);
        return { outcome: 'interrupted', error };
      }
      if (error instanceof PermanentError) {
        await settler.failForGood(id, error.message);
        return { outcome: 'failed', error };
      }
      throw error;
    }
    if (await settler.complete(id)) return { outcome: 'done' };
    return { outcome: 'overtaken', error: new Error('The job was taken from this worker while it ran.') };
  }

  return {
    taskList: Object.fromEntries(
      tasks.map((task) => [task.name, (_payload: unknown, { job }: JobHelpers) => perform(task, job)]),
    ),
    running: () => [...runs].map(([id, { name }]) => ({ id, name })),
    async idle(timeoutMs) {
      const over = new AbortController();
      const timeout = delay(timeoutMs, undefined, { signal: over.signal }).then(
        () => over.abort(),
        () => undefined,
      );
      while (runs.size > 0 && !over.signal.aborted) {
        await Promise.race([timeout, Promise.allSettled([...runs.values()].map((run) => run.ended))]);
      }
      over.abort();
    },
    interrupt(reason) {
      interruption ??= reason;
      for (const run of runs.values()) run.abort.abort(reason);
    },
    abandon() {
      abandoned = true;
    },
  };
}

/** A job of a schedule carries its minute beside the payload that the schedule declares. */
function splitPayload(stored: unknown): { payload: unknown; firedAt?: Date } {
  if (typeof stored !== 'object' || stored === null || !('_cron' in stored)) return { payload: stored };
  const { _cron: cron, ...payload } = stored;
  if (typeof cron !== 'object' || cron === null || !('ts' in cron)) return { payload: stored };
  return { payload, firedAt: new Date(String(cron.ts)) };
}
