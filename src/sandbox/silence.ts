/** When engines are asked whether they are there, and when one that does not answer is given up. */
export type SilenceTimes = {
  /** How often it is looked whom to ask. */
  lookMs: number;
  /** How often an engine that answers is asked, and how soon one that does not is asked again. */
  everyMs: number;
  againMs: number;
  /** How long an answer may take. */
  answerMs: number;
  /** So often in a row, and over so long a time, one has to be silent to be given up. */
  failures: number;
  silentMs: number;
  /** Over so long a time where most are silent, or there is no other: it may be the machine that has no time for them. */
  doubtfulMs: number;
};

export const silenceTimes: SilenceTimes = {
  lookMs: 2_000,
  everyMs: 30_000,
  againMs: 5_000,
  answerMs: 10_000,
  failures: 4,
  silentMs: 45_000,
  doubtfulMs: 180_000,
};

/** Times without an answer in a row, and when the first of them began. */
export type Silence = { failures: number; sinceMs: number };

export function isGivenUp(
  { failures, sinceMs }: Silence,
  {
    nowMs,
    answering,
    silent,
    times,
  }: { nowMs: number; answering: number; silent: number; times: SilenceTimes },
): boolean {
  const limitMs = answering >= silent ? times.silentMs : times.doubtfulMs;
  return failures >= times.failures && nowMs - sinceMs >= limitMs;
}

/** When the n-th of so many that are new is asked first: all at once would be all at once for ever. */
export function firstAskMs(
  index: number,
  { count, nowMs, times }: { count: number; nowMs: number; times: SilenceTimes },
): number {
  return nowMs + (times.everyMs * (index + 1)) / count;
}
