/** Where a stream begins. */
export type Opening = {
  /** The number after which events are sent. */
  after: number;
  hasGap: boolean;
  hasSnapshot: boolean;
};

export type Asked = { lastEventId: string | null; wantsSnapshot: boolean };
type Kept = {
  /** The number of the latest event. */
  last: number;
  /** The oldest event that is kept after the one asked for. */
  firstAfter: number | null;
};

/** The number in the id of an event, or what else the id stands for. */
export function parseEventId(id: string): number | 'unfinished_snapshot' | 'unknown' {
  if (/^\d{1,15}$/.test(id)) return Number(id);
  return /^\d{1,15}\.\d{1,6}$/.test(id) ? 'unfinished_snapshot' : 'unknown';
}

/** The id of a piece of a snapshot. Only the last one says that everything up to `seq` is known. */
export function snapshotEventId(seq: number, { index, isLast }: { index: number; isLast: boolean }): string {
  return isLast ? String(seq) : `${seq}.${index}`;
}

export function planOpening({ lastEventId, wantsSnapshot }: Asked, { last, firstAfter }: Kept): Opening {
  const asked = lastEventId === null ? null : parseEventId(lastEventId);
  if (asked === null) return { after: last, hasGap: false, hasSnapshot: wantsSnapshot };
  if (asked === 'unfinished_snapshot') return { after: last, hasGap: false, hasSnapshot: true };
  if (asked === 'unknown' || asked > last) return { after: last, hasGap: true, hasSnapshot: wantsSnapshot };
  if (asked === last || firstAfter === asked + 1) return { after: asked, hasGap: false, hasSnapshot: false };
  // With the present state at hand nobody needs what is left of the past.
  const after = wantsSnapshot || firstAfter === null ? last : firstAfter - 1;
  return { after, hasGap: true, hasSnapshot: wantsSnapshot };
}
