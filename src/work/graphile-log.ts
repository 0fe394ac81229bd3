import { Logger as GraphileLogger } from 'graphile-worker';
import type { Logger } from 'pino';

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

/** What may be logged of an error: other fields of a database error quote values of rows. */
export function describeError(error: unknown): {
  type: string;
  message: string;
  code?: string;
  stack?: string;
} {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const stack = error.stack === undefined ? {} : { stack: error.stack };
  return { type: error.name, message: error.message, ...code, ...stack };
}
