import type { z } from 'zod';
import type { eventOperations } from '../contract/event.ts';
import type { Db } from '../db/database.ts';
import type { SseFrame } from '../http/sse.ts';
import type { ReplicaRow } from '../replica/service.ts';
import type { FollowEvents } from './follow.ts';
import { type Asked, parseEventId, planOpening, snapshotEventId } from './opening.ts';
import type { TakeSnapshot } from './snapshot.ts';
import { type StoredEvent, selectFirstSeq } from './store.ts';

type Envelope = z.input<(typeof eventOperations)['streamReplicaEvents']['answers'][200]>;
type Parts = { follow: FollowEvents; takeSnapshot: TakeSnapshot; now: () => Date };
type Wanted = { row: ReplicaRow; asked: Asked; signal: AbortSignal };

export type StreamEvents = ReturnType<typeof createStreamEvents>;

const MAX_SHOWN_ID = 100;

/** One stream of a replica's events: what it begins with, and then everything that follows. */
export function createStreamEvents({ follow, takeSnapshot, now }: Parts) {
  return async function* streamEvents(
    db: Db,
    { row, asked, signal }: Wanted,
  ): AsyncGenerator<SseFrame<Envelope>> {
    const replicaId = row.id;
    // The row and its number of events were read together: what comes later is not in the state that the row shows.
    const last = Number(row.event_seq);
    const firstAfter = await firstAfterAsked(db, replicaId, asked);
    const opening = planOpening(asked, { last, firstAfter });
    const { after } = opening;
    if (opening.hasGap) {
      const id = opening.hasSnapshot ? snapshotEventId(after, { index: 0, isLast: false }) : String(after);
      yield toFrame(id, now(), gapOf(asked.lastEventId ?? '', after));
    }
    if (opening.hasSnapshot) {
      const events = await takeSnapshot(db, row);
      for (const [index, event] of events.entries()) {
        const isLast = index === events.length - 1;
        const id = snapshotEventId(after, { index: index + 1, isLast });
        yield toFrame(id, now(), { ...event, payload: { ...event.payload } });
      }
    }
    if (!opening.hasGap && !opening.hasSnapshot) yield { comment: 'open' };
    for await (const news of follow(db, { replicaId, after, last }, signal)) {
      if (news.kind === 'event') yield toStoredFrame(news.event);
      else yield toFrame(String(news.to), now(), gapOf(String(news.from), news.to));
    }
  };
}

/** The oldest event that is kept after the one asked for, when one is asked for. */
async function firstAfterAsked(db: Db, replicaId: string, { lastEventId }: Asked): Promise<number | null> {
  const after = lastEventId === null ? null : parseEventId(lastEventId);
  return typeof after === 'number' ? selectFirstSeq(db, { replicaId, after }) : null;
}

function gapOf(lastEventId: string, after: number) {
  const shown = lastEventId.slice(0, MAX_SHOWN_ID).toWellFormed();
  return { type: 'stream.gap', payload: { lastEventId: shown, resumesAfter: String(after) } };
}

function toStoredFrame({ seq, at, type, payload }: StoredEvent): SseFrame<Envelope> {
  return toFrame(String(seq), at, { type, payload });
}

function toFrame(
  id: string,
  at: Date,
  { type, payload }: { type: string; payload: Record<string, unknown> },
): SseFrame<Envelope> {
  return { id, event: type, data: { id, ts: at.toISOString(), type, payload } };
}
