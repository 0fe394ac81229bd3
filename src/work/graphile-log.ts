import { Logger as GraphileLogger } from 'graphile-worker';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';

const LEVELS = { error: 'error', warning: 'warn', info: 'debug', debug: 'trace' } as const;

/**
 * Routes the library's lines to our log. Its metadata holds whole jobs, so of that only the error goes through, and its
 * lines about a finished job are left out because the job's own line says the same.
 */
export function toGraphileLogger(log: Logger): GraphileLogger {
  return new GraphileLogger(() => (level, message, meta) => {
    if (meta.success || meta.failure) return;
    const error = meta.error ?? meta.fatalError;
    log[LEVELS[level]](error === undefined ? {} : { err: describeError(error) }, message);
  });
}
