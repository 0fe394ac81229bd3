import type { Db } from '../db/database.ts';
import { type StoredEvent, selectEvents } from './store.ts';
import type { EventTails } from './tail.ts';

/** What a follower learns: an event, or that those up to a number are gone. */
export type EventNews = { kind: 'event'; event: StoredEvent } | { kind: 'gap'; from: number; to: number };

export type FollowEvents = ReturnType<typeof createFollowEvents>;

/** What a stream that has fallen behind holds at once; there may be a thousand of them. */
const PAGE = { maxEvents: 50, maxBytes: 131_072 };

/** Gives the events of a replica after one of them, without end, until the replica is deleted. */
export function createFollowEvents({ tails }: { tails: EventTails }) {
  return async function* follow(
    db: Db,
    from: { replicaId: string; after: number; last: number },
    signal: AbortSignal,
  ): AsyncGenerator<EventNews> {
    const { replicaId } = from;
    using tail = tails.join(replicaId, from.last);
    let { after } = from;
    while (!signal.aborted) {
      const last = tail.last();
      if (after >= last) {
        if (tail.isGone()) return;
        await tail.changed(signal);
        continue;
      }
      const events = tail.after(after) ?? (await selectEvents(db, { replicaId, after, ...PAGE })).events;
      for (const event of events) {
        if (event.seq > after + 1) yield { kind: 'gap', from: after, to: event.seq - 1 };
        yield { kind: 'event', event };
        after = event.seq;
        if (isFarewell(event)) return;
      }
      if (events.length > 0) continue;
      // Everything this one had yet to send is no longer kept. What came since it looked is not meant by that.
      yield { kind: 'gap', from: after, to: last };
      after = last;
    }
  };
}

function isFarewell({ type, payload }: StoredEvent): boolean {
  return type === 'replica.status.changed' && payload.status === 'deleted';
}
