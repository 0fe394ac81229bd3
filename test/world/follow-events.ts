import type { Event } from './event-stream.ts';
import type { Organization } from './world.ts';

/** A large agent on a small machine takes its time to begin. */
const EVENT_WITHIN_MS = 120_000;

/**
 * Reads the events of a replica from the first one on, until one is the last that is wanted. Hangs up after every few of
 * them and goes on after the last one, as a client on a bad line does.
 */
export async function followEvents(
  org: Organization,
  {
    replicaId,
    isLast,
    hangUpAfter,
  }: { replicaId: string; isLast(event: Event): boolean; hangUpAfter: number },
): Promise<Event[]> {
  const events: Event[] = [];
  for (;;) {
    const headers = { 'last-event-id': events.at(-1)?.id ?? '0' };
    await using stream = await org.stream('GET', `/v1/replica/${replicaId}/events`, { headers });
    for (let count = 0; count < hangUpAfter; count++) {
      const event = await stream.event(undefined, EVENT_WITHIN_MS);
      events.push(event);
      if (isLast(event)) return events;
    }
  }
}
