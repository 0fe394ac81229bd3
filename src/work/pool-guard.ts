import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';

const guardedPools = new WeakSet<Pool>();

/**
 * Keeps a broken connection from ending the process: an `error` event without a listener is thrown. A pool whose owner
 * listens to its errors or its connections keeps doing so alone.
 */
export function guardPool(pool: Pool, log: Logger): void {
  if (guardedPools.has(pool)) return;
  guardedPools.add(pool);
  const report = (error: Error) => log.warn({ err: describeError(error) }, 'database connection broke');
  if (pool.listenerCount('error') === 0) pool.on('error', report);
  if (pool.listenerCount('connect') > 0) return;
  const guarded = new WeakSet<PoolClient>();
  const guardClient = (client: PoolClient) => {
    if (guarded.has(client)) return;
    guarded.add(client);
    client.on('error', report);
  };
  pool.on('connect', guardClient);
  // A connection that is older than this guard is met when it is next used.
  pool.on('acquire', guardClient);
}
