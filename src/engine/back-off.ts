import { setTimeout as delay } from 'node:timers/promises';

export type BackOff = {
  /** Waits longer each time, or until the signal; never throws. */
  wait(signal: AbortSignal): Promise<void>;
  reset(): void;
};

/** Doubles from the least to the most, spread by a quarter so that the engines of a machine do not call in step. */
export function createBackOff({ leastMs, mostMs }: { leastMs: number; mostMs: number }): BackOff {
  let nextMs = leastMs;
  return {
    async wait(signal) {
      const waitMs = nextMs * (0.75 + Math.random() / 2);
      nextMs = Math.min(nextMs * 2, mostMs);
      await delay(waitMs, undefined, { signal }).catch(() => {});
    },
    reset() {
      nextMs = leastMs;
    },
  };
}
