/** A bound on how much of something happens at once. */
export type Slots = {
  /** Waits for a free slot and returns what frees it again. */
  take(signal: AbortSignal): Promise<() => void>;
};

/** Slots are given in the order in which they were asked for. */
export function createSlots(count: number): Slots {
  const waiting = new Set<() => void>();
  let free = count;

  function giveBack(): void {
    const [next] = waiting;
    if (next) next();
    else free += 1;
  }

  function once(): () => void {
    let isHeld = true;
    return () => {
      if (isHeld) giveBack();
      isHeld = false;
    };
  }

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (free > 0) {
        free -= 1;
        return once();
      }
      const turn = Promise.withResolvers<void>();
      const onTurn = () => {
        waiting.delete(onTurn);
        turn.resolve();
      };
      const onAbort = () => {
        if (waiting.delete(onTurn)) turn.reject(signal.reason);
      };
      waiting.add(onTurn);
      signal.addEventListener('abort', onAbort, { once: true });
      try {
        await turn.promise;
        return once();
      } finally {
        signal.removeEventListener('abort', onAbort);
      }
    },
  };
}

/** Counts by key; what is refused has to be asked for again. */
export function createCounter(maxPerKey: number): { take(key: string): (() => void) | null } {
  const counts = new Map<string, number>();
  return {
    take(key) {
      const count = counts.get(key) ?? 0;
      if (count >= maxPerKey) return null;
      counts.set(key, count + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      };
    },
  };
}
