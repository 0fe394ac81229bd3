import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';

export type Loop = { start(): void; stop(): Promise<void> };

type Parts = {
  name: string;
  intervalMs: number;
  run: (signal: AbortSignal) => Promise<void>;
  log: Logger;
  monotonicMs?: () => number;
};

/** The same failure, again and again, is told this often. */
const REPEAT_AFTER_MS = 60_000;

/**
 * Does something again and again in this process, with a pause between. What it does must be found out anew each time
 * from the database and the machine: nothing is kept from one round to the next.
 */
export function createLoop({
  name,
  intervalMs,
  run,
  log,
  monotonicMs = () => performance.now(),
}: Parts): Loop {
  let running: { stop: AbortController; ended: Promise<void> } | null = null;
  let told: { message: string; atMs: number } | null = null;

  async function goOn(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await run(signal);
        tellRecovery();
      } catch (error) {
        if (!signal.aborted) tellFailure(error);
      }
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
  }

  function tellFailure(error: unknown): void {
    const { message } = describeError(error);
    const atMs = monotonicMs();
    if (told?.message === message && atMs - told.atMs < REPEAT_AFTER_MS) return;
    told = { message, atMs };
    log.warn({ loop: name, err: error }, 'loop.failed');
  }

  function tellRecovery(): void {
    if (told) log.info({ loop: name }, 'loop.recovered');
    told = null;
  }

  return {
    start() {
      if (running) return;
      const stop = new AbortController();
      running = { stop, ended: goOn(stop.signal) };
    },
    async stop() {
      running?.stop.abort();
      await running?.ended;
      running = null;
    },
  };
}
