/*
 * Clears the job tables of what nobody needs any more. The library keeps a row for every name that a queue ever had, and
 * locks all of them whenever it looks for jobs; it also keeps every job that was given up.
 *
 * A row of a queue must not go while a job is being added to the queue: nothing holds the row then, and the job would
 * either point to no queue, and never run, or have none, and run beside others. So the table is held against writers
 * first. Whoever has added a job holds it until the commit, which means that such a job is seen, and whoever adds one
 * afterwards makes the row anew. Writers wait behind this for a moment at most: it gives up soon and comes again later.
 */
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { createLoop, type Loop } from './loop.ts';

const EVERY_MS = 600_000;

export function createUpkeep({ pool, log }: { pool: Pool; log: Logger }): Loop {
  return createLoop({ name: 'work.upkeep', intervalMs: EVERY_MS, run: () => tidyJobTables(pool), log });
}

export async function tidyJobTables(pool: Pool): Promise<void> {
  await pool.query(DELETE_GIVEN_UP);
  await pool.query(DELETE_QUEUES);
}

const DELETE_GIVEN_UP = `
delete from graphile_worker._private_jobs
 where attempts >= max_attempts and locked_at is null and updated_at < now() - interval '1 day'`;

/** One message without parameters is one transaction. */
const DELETE_QUEUES = `
set local lock_timeout = '500ms';
lock table graphile_worker._private_job_queues in share row exclusive mode;
delete from graphile_worker._private_job_queues as queue
 where locked_at is null
   and not exists (select from graphile_worker._private_jobs as job where job.job_queue_id = queue.id)`;
