import type { Pool } from 'pg';

export type JobCounts = { waiting: number; running: number; later: number; failed: number };

/** How many jobs there are: due, in work, not yet due, and given up after their last attempt. */
export async function countJobs(pool: Pool): Promise<JobCounts> {
  const { rows } = await pool.query<JobCounts>(`
    select
      (count(*) filter (where locked_at is null and attempts < max_attempts and run_at <= now()))::int as waiting,
      (count(*) filter (where locked_at is not null))::int as running,
      (count(*) filter (where locked_at is null and attempts < max_attempts and run_at > now()))::int as later,
      (count(*) filter (where locked_at is null and attempts >= max_attempts))::int as failed
    from graphile_worker._private_jobs`);
  return rows[0] ?? { waiting: 0, running: 0, later: 0, failed: 0 };
}
