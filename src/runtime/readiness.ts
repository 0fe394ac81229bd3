import type { Driver, Probe } from './driver.ts';

const FRESH_MS = 5 * 60_000;

/**
 * Whether sandboxes can be made here. A probe starts one, which takes a while, so it is done at the start and now and then
 * afterwards; whoever asks gets what the last one found.
 */
export function createRuntimeReadiness({
  driver,
  monotonicMs,
}: {
  driver: Driver;
  monotonicMs: () => number;
}) {
  let known: Promise<Probe> | null = null;
  let latest: Promise<Probe> | null = null;
  let askedAtMs = 0;

  function probe(): Promise<Probe> {
    if (!latest || monotonicMs() - askedAtMs > FRESH_MS) {
      askedAtMs = monotonicMs();
      latest = driver.probe();
      latest.then(
        (found) => {
          known = Promise.resolve(found);
        },
        () => {
          latest = null;
        },
      );
    }
    return known ?? latest;
  }

  return {
    /** Fails with what is wrong and what to do about it. */
    async check(): Promise<void> {
      const { problems } = await probe();
      if (problems.length > 0) throw new Error(problems.join(' '));
    },
    probe,
  };
}
