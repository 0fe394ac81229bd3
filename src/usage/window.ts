import { AppError } from '../contract/error.ts';

/** A stretch of time; its end is not part of it. */
export type UsageWindow = { start: Date; end: Date };

const DAY_MS = 86_400_000;
const USUAL_DAYS = 30;
const MAX_DAYS = 366;
/** Years that the answer can name. */
const EARLIEST_MS = 0;
const LATEST_MS = Date.UTC(9999, 0);

/** The time a caller asks about, or a refusal. */
export function usageWindow(
  asked: { start?: string | undefined; end?: string | undefined },
  at: Date,
): UsageWindow {
  const end = asked.end === undefined ? at : new Date(asked.end);
  const start =
    asked.start === undefined ? new Date(end.getTime() - USUAL_DAYS * DAY_MS) : new Date(asked.start);
  if (start.getTime() < EARLIEST_MS || end.getTime() > LATEST_MS) {
    throw new AppError('invalid_request', 'The start and the end must be in the years 1970 to 9998.');
  }
  const days = (end.getTime() - start.getTime()) / DAY_MS;
  if (days <= 0 || days > MAX_DAYS) {
    throw new AppError(
      'invalid_request',
      `The end must be after the start, by at most ${MAX_DAYS} days; ask for a longer time in parts.`,
    );
  }
  return { start, end };
}
