import { runMigrations } from 'graphile-worker';
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import { toGraphileLogger } from './graphile-log.ts';
import { guardPool } from './pool-guard.ts';

/** Any constant that no other part of the service locks. */
const MIGRATION_LOCK = '7305808869231650146';

/**
 * Brings the tables of the job queue up to date. Processes that start at the same time take turns: the library's own
 * handling of that case gives up when the other one is slow.
 */
export async function migrateWork(pool: Pool, log: Logger): Promise<void> {
  if (pool.options.max < 2) throw new Error('The job queue needs a pool of at least 2 connections.');
  guardPool(pool, log);
  const client = await pool.connect();
  try {
    // The wait for another process may be longer than the pool lets a statement run.
    await client.query("select set_config('statement_timeout', '0', false)");
    await client.query('select pg_advisory_lock($1::bigint)', [MIGRATION_LOCK]);
    await runMigrations({ pgPool: pool, logger: toGraphileLogger(log) });
  } finally {
    // Ending the session is the one way to free the lock that works in every case.
    client.release(true);
  }
}
