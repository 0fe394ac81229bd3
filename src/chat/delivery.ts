/**
 * What becomes of a turn: the engine has it, will take it another time, or never will; or its images are on their way,
 * which it follows; or the agent is not there yet, for which nobody gives up.
 */
export type Verdict = 'taken' | 'later' | 'refused' | 'fetching' | 'installing';

/** The chat is busy in the engine, or the engine has too much to do. */
const later = new Set([408, 409, 425, 429]);

export function verdictOf(status: number): Verdict {
  if (status >= 200 && status < 300) return 'taken';
  return later.has(status) || status >= 500 || status < 400 ? 'later' : 'refused';
}

const FIRST_RETRY_MS = 50;
const SLOWEST_RETRY_MS = 5_000;
/** With the waits above, a little more than a minute. */
const MAX_TRIES = 20;

/** How long to wait after so many tries that did not help; null when it is time to give up. */
export function retryDelayMs(tries: number): number | null {
  return tries >= MAX_TRIES ? null : Math.min(FIRST_RETRY_MS * 2 ** tries, SLOWEST_RETRY_MS);
}
