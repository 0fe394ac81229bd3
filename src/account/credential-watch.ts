import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { selectChanges } from './credential-store.ts';
import type { KeyCache } from './key-cache.ts';

type Parts = {
  db: Db;
  cache: KeyCache;
  /** Milliseconds of a clock that never goes back. */
  monotonicMs: () => number;
  intervalMs: number;
  log: Logger;
};

/** Changes are kept for longer than this, so a look after a shorter break misses nothing. */
const LONGEST_BREAK_MS = 10 * 60_000;

/** Tells the cache what was taken away, one look after the other. */
export function createCredentialWatch({ db, cache, monotonicMs, intervalMs, log }: Parts) {
  let horizon: string | null = null;
  let lastLookMs = monotonicMs();
  let running: { stop: AbortController; ended: Promise<void> } | null = null;

  async function look(): Promise<void> {
    const beganAtMs = monotonicMs();
    if (beganAtMs - lastLookMs > LONGEST_BREAK_MS) horizon = null;
    const found = await selectChanges(db, horizon);
    // Numbers that go back mean another database than before: nothing remembered can be held against it.
    if (horizon === null || BigInt(found.horizon) < BigInt(horizon)) cache.clear();
    cache.report(found.changes, beganAtMs);
    horizon = found.horizon;
    lastLookMs = beganAtMs;
  }

  async function lookOnAndOn(signal: AbortSignal): Promise<void> {
    let isFailing = false;
    while (!signal.aborted) {
      try {
        await look();
        if (isFailing) log.info('credential_watch.recovered');
        isFailing = false;
      } catch (error) {
        // Requests read the database for themselves until a look succeeds.
        if (!isFailing) log.warn({ err: error }, 'credential_watch.failed');
        isFailing = true;
      }
      await sleep(intervalMs, undefined, { signal }).catch(() => {});
    }
  }

  return {
    look,
    start(): void {
      if (running) return;
      const stop = new AbortController();
      running = { stop, ended: lookOnAndOn(stop.signal) };
    },
    async stop(): Promise<void> {
      running?.stop.abort();
      await running?.ended;
      running = null;
    },
  };
}
