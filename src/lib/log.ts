import { type Logger, pino } from 'pino';

/** Lines of JSON on standard error, so that standard output stays free for what a person asked for. */
export function createLog(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: ['*.authorization', '*.password', '*.secret', '*.api_key', '*.token'],
        censor: '[secret]',
      },
    },
    pino.destination({ fd: 2, sync: false }),
  );
}
