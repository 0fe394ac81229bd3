import { type QueryExecutorProvider, sql } from 'kysely';

export type Job = {
  /** The name of the task that runs it. */
  name: string;
  payload: Record<string, unknown>;
  /** At most one waiting job has this key; `keyMode` says what a second one does. */
  key?: string;
  keyMode?: 'replace' | 'preserve_run_at' | 'unsafe_dedupe';
  runAt?: Date;
  /** Jobs of one queue run one at a time, over all processes. */
  queue?: string;
  /** How often it is tried before it is given up (25 when absent). */
  maxAttempts?: number;
  /** A smaller number runs earlier. */
  priority?: number;
};

/** Adds a job in the transaction of `db`: a rollback takes the job with it. */
export async function enqueue(db: QueryExecutorProvider, job: Job): Promise<{ id: string }> {
  // add_job answers NULL and adds nothing when a worker takes the waiting job of the same key between two of its
  // statements. The next call sees that job as running and adds a new one.
  for (let tries = 0; tries < 5; tries++) {
    const { rows } = await addJob(job).execute(db);
    const id = rows[0]?.id;
    if (id) return { id };
  }
  throw new Error(
    `The job ${job.name} was not added: jobs of its key are taken faster than they are replaced.`,
  );
}

function addJob(job: Job) {
  return sql<{ id: string | null }>`
    select added.id::text as id
      from graphile_worker.add_job(
        identifier => ${job.name}::text,
        payload => ${JSON.stringify(job.payload)}::json,
        queue_name => ${job.queue ?? null}::text,
        run_at => ${job.runAt?.toISOString() ?? null}::timestamptz,
        max_attempts => ${job.maxAttempts ?? null}::int,
        job_key => ${job.key ?? null}::text,
        priority => ${job.priority ?? null}::int,
        job_key_mode => ${job.keyMode ?? null}::text
      ) as added`;
}
