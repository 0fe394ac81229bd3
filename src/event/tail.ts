/*
 * The newest events of replicas, shared by all streams of this process.
 *
 * - A replica that anybody follows has one tail. It reads what is new once, however many follow, and keeps the latest
 *   events in a ring of bounded size.
 * - A stream takes what it has not sent from the ring. One that has fallen so far behind that the ring no longer has it
 *   reads pages from the database by itself until it has caught up.
 * - A tail looks when a hint comes, and now and then without one. While the database is away it tries again; streams
 *   stay open meanwhile, since nothing is lost.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { describeError } from '../lib/log.ts';
import { replicaTopic } from '../replica/service.ts';
import type { Signals } from '../work/signal.ts';
import { createEventRing } from './ring.ts';
import { isReplicaKnown, type StoredEvent, selectEvents } from './store.ts';

type Parts = {
  /** Connections for work beside requests. */
  db: Db;
  signals: Pick<Signals, 'follow'>;
  log: Logger;
};

export type EventTails = ReturnType<typeof createEventTails>;
/** A stream's part in a tail; letting go of the last one ends the tail. */
export type TailView = Disposable & {
  /** The number of the latest event that is known here. */
  last(): number;
  /** Whether the replica is gone, with everything of it. */
  isGone(): boolean;
  /** The events after this number; null when some of them are only in the database. */
  after(seq: number): readonly StoredEvent[] | null;
  /** Ends when there is something new, or when the signal is aborted. */
  changed(signal: AbortSignal): Promise<void>;
};

const RING_EVENTS = 500;
/** What the events of one ring may be together, and what those of all rings share. */
const RING_BYTES = { least: 65_536, most: 1_048_576, ofAll: 64 * 1_048_576 };
const PAGE = { maxEvents: 200, maxBytes: 262_144 };
const LOOK_EVERY_MS = 15_000;
const RETRY_MS = 1_000;

export function createEventTails(parts: Parts) {
  const tails = new Map<string, ReturnType<typeof openTail> & { views: number }>();
  const { least, most, ofAll } = RING_BYTES;
  const ringBytes = () => Math.max(least, Math.min(most, ofAll / Math.max(tails.size, 1)));

  /** Follows a replica; `last` is the number of an event that has been there already. */
  function join(replicaId: string, last: number): TailView {
    const tail = tails.get(replicaId) ?? { ...openTail(parts, { replicaId, last, ringBytes }), views: 0 };
    tails.set(replicaId, tail);
    tail.views += 1;
    let hasLeft = false;
    return {
      ...tail.view,
      [Symbol.dispose]() {
        if (hasLeft) return;
        hasLeft = true;
        tail.views -= 1;
        if (tail.views > 0) return;
        tails.delete(replicaId);
        tail.close();
      },
    };
  }

  return { join };
}

type Opened = { replicaId: string; last: number; ringBytes: () => number };

function openTail({ db, signals, log }: Parts, { replicaId, last, ringBytes }: Opened) {
  const ring = createEventRing<StoredEvent>({ last, maxEvents: RING_EVENTS, maxBytes: ringBytes });
  const waiting = new Set<() => void>();
  const closing = new AbortController();
  let isGone = false;

  async function run(signal: AbortSignal): Promise<void> {
    using news = signals.follow(replicaTopic(replicaId));
    while (!signal.aborted && !isGone) {
      try {
        await readOn(signal);
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ replicaId, err: describeError(error) }, 'event.tail_failed');
        await delay(RETRY_MS, undefined, { signal }).catch(() => {});
        continue;
      }
      await news.next(signal, LOOK_EVERY_MS);
    }
  }

  async function readOn(signal: AbortSignal): Promise<void> {
    let isNews = false;
    while (!signal.aborted) {
      const page = await selectEvents(db, { replicaId, after: ring.last(), ...PAGE });
      if (page.events.length > 0) {
        isNews = true;
        ring.add(page.events);
        wakeAll();
      }
      if (!page.hasMore) break;
    }
    if (isNews || (await isReplicaKnown(db, replicaId))) return;
    isGone = true;
    wakeAll();
  }

  function wakeAll(): void {
    for (const wake of [...waiting]) wake();
  }

  async function changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    waiting.add(wake);
    signal.addEventListener('abort', wake);
    await promise;
    waiting.delete(wake);
    signal.removeEventListener('abort', wake);
  }

  void run(closing.signal);
  return {
    view: { last: ring.last, after: ring.after, isGone: () => isGone, changed },
    close: () => closing.abort(),
  };
}
