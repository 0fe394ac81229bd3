/** The promise's outcome, or the signal's reason if that comes first. */
export async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  // Whoever has stopped waiting for it has no use for its failure either.
  promise.catch(() => {});
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
