import { type QueryExecutorProvider, sql } from 'kysely';

/** Whether a job of the key waits or runs that is not given up. */
export async function hasJob(db: QueryExecutorProvider, key: string): Promise<boolean> {
  const { rows } = await sql`
    select from graphile_worker._private_jobs
     where key = ${key} and (attempts < max_attempts or locked_at is not null)`.execute(db);
  return rows.length > 0;
}
