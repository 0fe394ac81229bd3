/*
 * Gives back the jobs of workers that died.
 *
 * The library keeps the locks of a killed worker for 4 hours. Here every process looks, every 1.5 s, for worker ids in
 * the job tables whose advisory lock (see worker-lock.ts) is free, and unlocks what they hold the second time it sees
 * them. The round in between is for a worker that lives but lost its lock: it hears of it at once and aborts its
 * tasks, and so they have at least that long to end before somebody else starts the job again.
 *
 * The statement reads the ids from its snapshot and tries their locks after that; an id in the snapshot held its lock
 * before it was written there, so a free lock means a dead id and never one that is just starting.
 *
 * `force_unlock_workers` does the same without the attempts: a job with one attempt would then never run again. So a
 * death gives the attempt back. A job that kills its process must not do so for ever, though: deaths in a row are
 * counted in `last_error`, wait longer after the third, and cost an attempt after the tenth.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';
import { attemptGivenBack } from './settle.ts';
import { lockKeyOf, WORKER_ID_PATTERN } from './worker-lock.ts';

const PROMPT_DEATHS = 3;
const FREE_DEATHS = 10;
const LONGEST_DELAY_S = 60;

/** Sweeps until it is stopped. */
export function startSweep(options: { pool: Pool; log: Logger; intervalMs: number }): {
  stop(): Promise<void>;
} {
  const { pool, log, intervalMs } = options;
  const stopping = new AbortController();
  const stopped = sweep();

  async function sweep(): Promise<void> {
    let suspects: readonly string[] = [];
    while (!stopping.signal.aborted) {
      try {
        const found = await releaseDeadWorkers({ pool, suspects });
        suspects = found.suspects;
        if (found.released.length > 0) {
          log.warn({ deadWorkers: found.released, jobs: found.jobs }, 'jobs of dead workers released');
        }
      } catch (error) {
        log.warn({ err: describeError(error) }, 'sweep for dead workers failed');
      }
      await delay(intervalMs, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  }

  return {
    async stop() {
      stopping.abort();
      await stopped;
    },
  };
}

/** One round: releases the dead among `suspects` and answers the other dead ids as the suspects of the next round. */
export async function releaseDeadWorkers(options: {
  pool: Pool;
  suspects: readonly string[];
}): Promise<{ released: string[]; suspects: string[]; jobs: number }> {
  const { rows } = await options.pool.query<{ id: string; confirmed: boolean; jobs: number }>(RELEASE, [
    options.suspects,
  ]);
  return {
    released: rows.filter((row) => row.confirmed).map((row) => row.id),
    suspects: rows.filter((row) => !row.confirmed).map((row) => row.id),
    jobs: rows[0]?.jobs ?? 0,
  };
}

const DEATH = ['The worker process died while it held this job (', ' in a row).'] as const;
const DEATH_PATTERN = `^${DEATH[0].replace('(', '\\(')}([0-9]{1,4})${DEATH[1].replace(')', '\\)').replace('.', '\\.')}$`;

/** The transaction lock that tries an id also keeps two sweeps from releasing the same id at the same time. */
const RELEASE = `
with holder as materialized (
  select locked_by as id from graphile_worker._private_jobs where locked_by is not null
  union
  select locked_by from graphile_worker._private_job_queues where locked_by is not null
), worker as materialized (
  select id, ${lockKeyOf('id')} as key from holder where id ~ '${WORKER_ID_PATTERN}'
), dead as materialized (
  select id, id = any($1::text[]) as confirmed from worker where pg_try_advisory_xact_lock(key)
), held as materialized (
  select job.id, job.locked_by, coalesce(substring(job.last_error from '${DEATH_PATTERN}')::int, 0) + 1 as deaths
    from graphile_worker._private_jobs as job
    join dead on dead.id = job.locked_by and dead.confirmed
), job as (
  update graphile_worker._private_jobs as job
     set locked_by = null,
         locked_at = null,
         attempts = case when held.deaths > ${FREE_DEATHS} then job.attempts else ${attemptGivenBack('job')} end,
         run_at = greatest(job.run_at, now())
           + case when held.deaths > ${PROMPT_DEATHS} then least(held.deaths, ${LONGEST_DELAY_S}) else 0 end
           * interval '1 second',
         last_error = '${DEATH[0]}' || held.deaths || '${DEATH[1]}'
    from held
   where job.id = held.id and job.locked_by = held.locked_by
  returning job.id
), queue as (
  update graphile_worker._private_job_queues as queue
     set locked_by = null, locked_at = null
    from dead
   where queue.locked_by = dead.id and dead.confirmed
)
select id, confirmed, (select count(*)::int from job) as jobs from dead`;
