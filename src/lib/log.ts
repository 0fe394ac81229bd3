import { type Logger, pino } from 'pino';

/** Lines of JSON on standard error, so that standard output stays free for what a person asked for. */
export function createLog(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeError },
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['*.authorization', '*.password', '*.secret', '*.api_key', '*.token'],
        censor: '[secret]',
      },
    },
    pino.destination({ fd: 2, sync: false }),
  );
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
