/** Lets work on one key come one at a time, in the order in which it was asked for. */
export function createLanes() {
  const last = new Map<string, Promise<unknown>>();

  return async function inLane<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = last.get(key) ?? Promise.resolve();
    const own = before.then(work, work);
    last.set(key, own);
    try {
      return await own;
    } finally {
      if (last.get(key) === own) last.delete(key);
    }
  };
}
