import { setTimeout as delay } from 'node:timers/promises';

/** Looks again, at first after a millisecond and then less often, until the claim holds or the time is over. */
export async function waitUntil(
  claim: () => boolean | Promise<boolean>,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    signal?.throwIfAborted();
    if (await claim()) return true;
    if (performance.now() >= deadline) return false;
    await delay(pauseMs);
  }
}
