import type { LiveService } from './live-service.ts';
import { progress } from './progress.ts';
import type { Frame } from './replica-events.ts';
import { until } from './until.ts';

type Wanted = { replicaIds: readonly string[]; streams: number; events: number; signal: AbortSignal };

const OPENED_AT_ONCE = 50;
const PAUSE_MS = 1_000;
/** The report that a command begins goes out ahead, and must not be on its way together with the one that counts. */
const AHEAD_SECONDS = 0.2;
const WITHIN_MS = 120_000;

/**
 * How long it takes from the moment at which a command in a sandbox reads the clock to the bytes at each client that
 * follows the replica, in milliseconds. Sandboxes and clients have the same clock.
 */
export async function timeFanOut(live: LiveService, wanted: Wanted): Promise<number[]> {
  const { replicaIds, streams, events, signal } = wanted;
  const latencies: number[] = [];
  const note = ({ event, data, atMs }: Frame) => {
    if (event !== 'chat.turn.delta') return;
    const printed = /"output":"(\d{19})\\n"/.exec(data)?.[1];
    if (printed !== undefined) latencies.push(atMs - Number(printed) / 1e6);
  };
  await using open = new AsyncDisposableStack();
  for (let first = 0; first < streams; first += OPENED_AT_ONCE) {
    const some = Array.from({ length: Math.min(OPENED_AT_ONCE, streams - first) }, (_, index) =>
      live.openEvents(replicaIds[(first + index) % replicaIds.length] ?? '', note),
    );
    for (const stream of await Promise.all(some)) open.use(stream);
  }
  for (const [index, id] of replicaIds.entries()) {
    const delayMs = Math.round((PAUSE_MS * index) / replicaIds.length);
    await live.client.sendMessage({ params: { id }, body: { message: script(events, delayMs) } }, { signal });
  }
  const expected = streams * events;
  await until(() => latencies.length >= expected, {
    signal,
    what: 'every stream has every event',
    timeoutMs: WITHIN_MS,
  });
  progress(`  ${latencies.length} arrivals`);
  await live.untilQuiet();
  return latencies;
}

/** A turn that prints the time again and again. */
function script(events: number, delayMs: number): string {
  const step = [{ run: `sleep ${AHEAD_SECONDS}; date +%s%N` }, { sleepMs: PAUSE_MS }];
  return `SCRIPT:${JSON.stringify([{ sleepMs: delayMs }, ...Array.from({ length: events }, () => step).flat()])}`;
}
