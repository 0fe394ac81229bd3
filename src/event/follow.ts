import type { Db } from '../db/database.ts';
import { type StoredEvent, selectEvents } from './store.ts';
import type { EventTails, TailView } from './tail.ts';

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
    using tail = tails.join(from.replicaId, from.last);
    let { after } = from;
    while (!signal.aborted) {
      const events = await eventsAfter(db, { tail, replicaId: from.replicaId, after });
      for (const event of events) {
        if (event.seq > after + 1) yield { kind: 'gap', from: after, to: event.seq - 1 };
        yield { kind: 'event', event };
        after = event.seq;
        if (isFarewell(event)) return;
      }
      if (events.length > 0) continue;
      if (tail.isGone()) return;
      if (after < tail.last()) {
        // Everything this one had yet to send is no longer kept.
        yield { kind: 'gap', from: after, to: tail.last() };
        after = tail.last();
      } else await tail.changed(signal);
    }
  };
}

async function eventsAfter(
  db: Db,
  wanted: { tail: TailView; replicaId: string; after: number },
): Promise<readonly StoredEvent[]> {
  const { tail, replicaId, after } = wanted;
  return tail.after(after) ?? (await selectEvents(db, { replicaId, after, ...PAGE })).events;
}

function isFarewell({ type, payload }: StoredEvent): boolean {
  return type === 'replica.status.changed' && payload.status === 'deleted';
}
