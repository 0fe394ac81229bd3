/*
 * Ends a job in the tables only while it is still ours. The library deletes a finished job by its id alone; when the
 * lock of the worker was lost meanwhile, that row may be running elsewhere, or carry a newer payload under the same
 * key. So the worker deletes the row first, under its own id, and learns whether the job was taken from it.
 */
import type { Pool } from 'pg';

export type Settler = {
  /** Deletes the job; false when it is no longer ours. Calls that come while a statement runs share the next one. */
  complete(jobId: string): Promise<boolean>;
  /** Makes the jobs wait again as if they had not been tried. */
  handBack(jobIds: readonly string[]): Promise<void>;
  /** Keeps the job for inspection, never to be tried again. */
  failForGood(jobId: string, reason: string): Promise<void>;
  /** Makes the locks of long jobs look young: the library takes every lock of 4 hours for a dead worker's. */
  renew(): Promise<void>;
};

export function createSettler({ pool, workerId }: { pool: Pool; workerId: string }): Settler {
  const finished = new Map<string, PromiseWithResolvers<boolean>>();
  let flushing = false;

  async function flush(): Promise<void> {
    flushing = true;
    while (finished.size > 0) {
      const batch = new Map(finished);
      finished.clear();
      try {
        const { rows } = await pool.query<{ id: string }>(COMPLETE, [[...batch.keys()], workerId]);
        const deleted = new Set(rows.map((row) => row.id));
        for (const [id, answer] of batch) answer.resolve(deleted.has(id));
      } catch (error) {
        for (const answer of batch.values()) answer.reject(error);
      }
    }
    flushing = false;
  }

  return {
    complete(jobId) {
      const answer = Promise.withResolvers<boolean>();
      finished.set(jobId, answer);
      if (!flushing) void flush();
      return answer.promise;
    },
    async handBack(jobIds) {
      await pool.query(HAND_BACK, [jobIds, workerId]);
    },
    async failForGood(jobId, reason) {
      await pool.query(FAIL_FOR_GOOD, [[jobId], workerId, reason]);
    },
    async renew() {
      await pool.query(RENEW, [workerId]);
    },
  };
}

/**
 * The SQL for the attempts of a job that was interrupted. A job that was replaced or removed while it ran has no key
 * and all attempts spent, so that it is not tried again; that stays so.
 */
export function attemptGivenBack(job: string): string {
  return `case when ${job}.key is null and ${job}.attempts >= ${job}.max_attempts and ${job}.updated_at >= ${job}.locked_at
    then ${job}.attempts else greatest(${job}.attempts - 1, 0) end`;
}

const FREE_QUEUE = `
update graphile_worker._private_job_queues as queue
   set locked_by = null, locked_at = null
  from settled
 where queue.id = settled.job_queue_id and queue.locked_by = $2::text`;

const OURS = 'job.id = any($1::bigint[]) and job.locked_by = $2::text';

const COMPLETE = `
with settled as (
  delete from graphile_worker._private_jobs as job where ${OURS} returning job.id::text as id, job.job_queue_id
), freed as (${FREE_QUEUE})
select id from settled`;

const HAND_BACK = `
with settled as (
  update graphile_worker._private_jobs as job
     set attempts = ${attemptGivenBack('job')}, locked_by = null, locked_at = null
   where ${OURS}
  returning job.job_queue_id
)${FREE_QUEUE}`;

const FAIL_FOR_GOOD = `
with settled as (
  update graphile_worker._private_jobs as job
     set attempts = job.max_attempts, last_error = $3::text, locked_by = null, locked_at = null
   where ${OURS}
  returning job.job_queue_id
)${FREE_QUEUE}`;

const RENEW = `
with job as (
  update graphile_worker._private_jobs
     set locked_at = now(), updated_at = case when updated_at >= locked_at then now() else updated_at end
   where locked_by = $1::text
)
update graphile_worker._private_job_queues set locked_at = now() where locked_by = $1::text`;
