import { billedMinutes } from './price.ts';
import type { UsageWindow } from './window.ts';

/** A stretch in which a replica was awake; `endedAt` is null while it goes on. */
export type AwakeStretch = {
  replicaId: string;
  source: string;
  rateMicros: number;
  startedAt: Date;
  endedAt: Date | null;
};
export type UsageGrouping = 'replica' | 'source' | 'day';
export type Counted = { minutes: number; micros: number };
export type Tally = ReturnType<typeof createTally>;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Adds up stretches, one after the other, so that there may be any number of them. */
export function createTally(options: { window: UsageWindow; grouping: UsageGrouping; at: Date }) {
  const { window, grouping, at } = options;
  const total: Counted = { minutes: 0, micros: 0 };
  const groups = new Map<string, Counted>();

  function count(key: string, minutes: number, rateMicros: number): void {
    if (minutes === 0) return;
    const group = groups.get(key) ?? { minutes: 0, micros: 0 };
    groups.set(key, group);
    for (const sum of [total, group]) {
      sum.minutes += minutes;
      sum.micros += minutes * rateMicros;
    }
  }

  return {
    add(stretch: AwakeStretch): void {
      const ended = { startedAt: stretch.startedAt, endedAt: stretch.endedAt ?? at };
      if (grouping !== 'day') {
        const key = grouping === 'replica' ? stretch.replicaId : stretch.source;
        count(key, minutesWithin(ended, window), stretch.rateMicros);
        return;
      }
      for (const day of daysOf(ended, window)) {
        count(day.key, minutesWithin(ended, day), stretch.rateMicros);
      }
    },

    /** Days in their order, others by what they cost. */
    result(): { total: Counted; groups: (Counted & { key: string })[] } {
      const listed = [...groups].map(([key, counted]) => ({ key, ...counted }));
      const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1);
      const isByDay = grouping === 'day';
      return { total, groups: listed.sort((a, b) => (isByDay ? 0 : b.micros - a.micros) || byKey(a, b)) };
    },
  };
}

/** The billed minutes of a stretch that begin within a window; each begins a minute after the one before. */
export function minutesWithin(stretch: { startedAt: Date; endedAt: Date }, window: UsageWindow): number {
  const minutes = billedMinutes(stretch);
  const begunBefore = (moment: Date) => {
    const begun = Math.ceil((moment.getTime() - stretch.startedAt.getTime()) / MINUTE_MS);
    return Math.min(Math.max(begun, 0), minutes);
  };
  return begunBefore(window.end) - begunBefore(window.start);
}

/** The days of UTC that a stretch has part in, each as far as it is within the window. */
function* daysOf(
  stretch: { startedAt: Date; endedAt: Date },
  window: UsageWindow,
): Generator<UsageWindow & { key: string }> {
  const from = Math.max(stretch.startedAt.getTime(), window.start.getTime());
  const to = Math.min(stretch.endedAt.getTime(), window.end.getTime());
  for (let day = Math.floor(from / DAY_MS) * DAY_MS; day < to; day += DAY_MS) {
    yield {
      key: new Date(day).toISOString().slice(0, 10),
      start: new Date(Math.max(day, window.start.getTime())),
      end: new Date(Math.min(day + DAY_MS, window.end.getTime())),
    };
  }
}
