/** How an attempt ended: with an answer, or without one. */
export type AttemptEnd =
  | { status: number; retryAfter: string | null }
  | { status: null; error: string; isFinal: boolean };

export type Verdict = { state: 'delivered' | 'failed' } | { state: 'pending'; waitMs: number };

type Circumstances = {
  /** How many attempts have ended, this one among them. */
  attempts: number;
  /** The pause before each retry; there are no more retries than pauses. */
  backOffMs: readonly number[];
  at: Date;
  /** From 0 to below 1. */
  random: () => number;
};

/** By how much a pause may be longer, so that what failed together does not come back together. */
const JITTER = 0.2;
const LONGEST_RETRY_AFTER_MS = 600_000;

/** What becomes of a delivery after an attempt. */
export function judgeAttempt(end: AttemptEnd, { attempts, backOffMs, at, random }: Circumstances): Verdict {
  if (end.status !== null && end.status >= 200 && end.status < 300) return { state: 'delivered' };
  const pauseMs = backOffMs[attempts - 1];
  if (pauseMs === undefined || !mayPass(end)) return { state: 'failed' };
  const ownMs = Math.round(pauseMs * (1 + JITTER * random()));
  const askedMs = end.status === null ? 0 : askedPauseMs(end.retryAfter, at);
  return { state: 'pending', waitMs: Math.max(ownMs, Math.min(askedMs, LONGEST_RETRY_AFTER_MS)) };
}

/** Whether another attempt may end differently. */
function mayPass(end: AttemptEnd): boolean {
  if (end.status === null) return !end.isFinal;
  return end.status === 429 || (end.status >= 500 && end.status < 600);
}

/** `Retry-After` in either of its forms; 0 for anything else and for what is over. */
function askedPauseMs(retryAfter: string | null, at: Date): number {
  if (retryAfter === null) return 0;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1_000;
  const untilMs = /[a-z]/i.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(untilMs) ? 0 : Math.max(0, untilMs - at.getTime());
}
