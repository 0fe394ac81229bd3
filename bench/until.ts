import { setTimeout as delay } from 'node:timers/promises';

/** Looks again and again until it is so. The interval is small beside everything that is measured with it. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  { signal, what, timeoutMs, intervalMs = 20 }: Waiting,
): Promise<void> {
  const giveUpAt = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > giveUpAt) throw new Error(`after ${timeoutMs / 1_000} s still not: ${what}`);
    await delay(intervalMs, undefined, { signal });
  }
}

type Waiting = { signal: AbortSignal; what: string; timeoutMs: number; intervalMs?: number };
