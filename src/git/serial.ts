type Turn<T> = { key: string; signal: AbortSignal; work: () => Promise<T> };

/** Runs work under one key one after the other within this process; other keys do not wait. */
export function createSerial(): <T>(turn: Turn<T>) => Promise<T> {
  const tails = new Map<string, Promise<void>>();

  return async function inTurn<T>({ key, signal, work }: Turn<T>): Promise<T> {
    const before = tails.get(key) ?? Promise.resolve();
    const done = Promise.withResolvers<void>();
    // Those who come later wait for everyone before them, also when this turn is given up while it waits.
    const tail = before.then(() => done.promise);
    tails.set(key, tail);
    try {
      await orAborted(before, signal);
      return await work();
    } finally {
      done.resolve();
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
}

async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
