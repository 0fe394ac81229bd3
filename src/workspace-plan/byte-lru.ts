type Kept<T> = { value: T; bytes: number };

/** Keeps what was used last, as much as fits. */
export type ByteLru<T> = {
  get(key: string): T | undefined;
  set(key: string, value: T, bytes: number): void;
};

export function createByteLru<T>(maxBytes: number): ByteLru<T> {
  // A map lists its keys in the order in which they were put in, so the first is the one unused for longest.
  const kept = new Map<string, Kept<T>>();
  let total = 0;

  function take(key: string): Kept<T> | undefined {
    const found = kept.get(key);
    if (found) {
      kept.delete(key);
      total -= found.bytes;
    }
    return found;
  }

  function put(key: string, item: Kept<T>): void {
    kept.set(key, item);
    total += item.bytes;
  }

  return {
    get(key) {
      const found = take(key);
      if (found) put(key, found);
      return found?.value;
    },
    set(key, value, bytes) {
      take(key);
      if (bytes > maxBytes) return;
      put(key, { value, bytes });
      for (const oldest of kept.keys()) {
        if (total <= maxBytes) break;
        take(oldest);
      }
    },
  };
}
