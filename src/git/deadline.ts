import { GitError } from './failure.ts';

/** Gives the work a signal that the caller's signal or the end of the time aborts, whichever comes first. */
export async function withDeadline<T>(
  { signal, timeoutMs }: { signal: AbortSignal | undefined; timeoutMs: number },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(
    () =>
      deadline.abort(
        new GitError('timeout', `The git host did not answer within ${timeoutMs / 1000} seconds.`),
      ),
    timeoutMs,
  );
  try {
    return await work(signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal);
  } finally {
    clearTimeout(timer);
  }
}
