/** The latest events of one replica, as many as fit. Without a hole: what does not follow on begins the ring anew. */
export function createEventRing<E extends { seq: number; bytes: number }>(options: {
  /** The number after which the first event comes. */
  last: number;
  maxEvents: number;
  /** Asked for with every event, since what one ring may hold depends on how many there are. */
  maxBytes: () => number;
}) {
  let { last } = options;
  let bytes = 0;
  let events: E[] = [];

  function push(event: E): void {
    if (event.seq !== last + 1) {
      events = [];
      bytes = 0;
    }
    events.push(event);
    bytes += event.bytes;
    last = event.seq;
  }

  /** The newest one stays, however large it is. */
  function shrink(): void {
    const maxBytes = options.maxBytes();
    let dropped = 0;
    while (events.length - dropped > 1) {
      if (events.length - dropped <= options.maxEvents && bytes <= maxBytes) break;
      bytes -= events[dropped]?.bytes ?? 0;
      dropped += 1;
    }
    events.splice(0, dropped);
  }

  return {
    last: () => last,

    add(added: readonly E[]): void {
      for (const event of added) push(event);
      shrink();
    },

    /** The events after this number; null when some of them are not here any more. */
    after(seq: number): readonly E[] | null {
      if (seq >= last) return [];
      const first = events[0]?.seq;
      if (first === undefined || seq + 1 < first) return null;
      return events.slice(seq + 1 - first);
    },
  };
}
