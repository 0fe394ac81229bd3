import { createHash } from 'node:crypto';
import { type CronFields, parseCron, ScheduleError } from './cron-fields.ts';
import { findChange, instantsOf, isKnownZone, localTime } from './cron-local-time.ts';
import { walkLocalTimes } from './cron-walk.ts';

/**
 * When schedules fire. A schedule for every hour fires at each minute whose local time it names, as clocks show it: twice
 * when they go back, not at all where they jump. Any other schedule names times of a day, and each of them happens once on
 * its day: the first time when clocks show it twice, and when they have jumped over it, right after the jump.
 */

type Zoned = { schedule: string; timezone: string };
export type CatchUp = 'latest' | 'skip' | 'all';

const MINUTE_MS = 60_000;
/** A fire that begins later than this was missed. */
const MISSED_AFTER_MS = 60_000;
/** So many missed fires are made up for at most, the latest ones. */
const MOST_FIRES = 100;
/** Times that clocks jumped over are counted as one more than they come to, and no hundred fires have more changes. */
const MOST_CHANGES = 2;

/** Why a schedule is refused, as the rest of a sentence about it; null when it is fine. */
export function scheduleRefusal(schedule: string, timezone: string): string | null {
  if (!isKnownZone(timezone)) return 'names a time zone that is not known';
  try {
    parseCron(schedule);
    return null;
  } catch (error) {
    if (error instanceof ScheduleError) return error.message;
    throw error;
  }
}

/** The first fire after that time. Throws for a schedule that would be refused. */
export function nextFire(schedule: string, timezone: string, after: Date): Date {
  return createFinder({ schedule, timezone })(after);
}

export function nextFires(
  schedule: string,
  timezone: string,
  { after, count }: { after: Date; count: number },
): Date[] {
  const findNext = createFinder({ schedule, timezone });
  const fires: Date[] = [];
  for (let fire = findNext(after); fires.length < count; fire = findNext(fire)) fires.push(fire);
  return fires;
}

/** When a fire begins: later by up to the jitter, always the same for one automation, so that its fires keep their distance. */
export function dueAt(automationId: string, fireAt: Date, jitterSeconds: number): Date {
  return new Date(fireAt.getTime() + jitterMs(automationId, jitterSeconds));
}

export function jitterMs(automationId: string, jitterSeconds: number): number {
  const hash = createHash('sha256').update(automationId).digest().readUInt32BE();
  return hash % (jitterSeconds * 1_000 + 1);
}

/**
 * What is to begin when the fire at `from` and perhaps more have come. Those that were missed come to nothing (`skip`), to one
 * run for the last of all (`latest`), or to one each (`all`), the last hundred at most.
 */
export function missedFires(given: Zoned & { from: Date; now: Date; catchUp: CatchUp }): {
  fires: Date[];
  next: Date;
} {
  const { from, now, catchUp } = given;
  const findNext = createFinder(given);
  const come = latestFires(given, findNext);
  const isMissed = (fire: Date) => now.getTime() - fire.getTime() > MISSED_AFTER_MS;
  const last = come.at(-1);
  const next = last ? findNext(last) : from;
  if (catchUp === 'all') return { fires: come, next };
  if (catchUp === 'skip') return { fires: come.filter((fire) => !isMissed(fire)), next };
  return { fires: come.some(isMissed) ? come.slice(-1) : come, next };
}

/** The fires from `from` to `now`: the last ones when there are many. */
function latestFires({ schedule, timezone, from, now }: Zoned & { from: Date; now: Date }, findNext: Finder) {
  // Years may have passed, so what is looked through is found from its end.
  const shown = localTime(now.getTime(), timezone) + MINUTE_MS;
  let startMs = now.getTime() + 1;
  let count = 0;
  for (const local of walkLocalTimes(parseCron(schedule), { from: shown, direction: 'backward' })) {
    const fireMs = fireOf(local, timezone);
    if (fireMs < startMs) count++;
    startMs = Math.min(startMs, fireMs);
    if (startMs <= from.getTime() || count === MOST_FIRES + MOST_CHANGES) break;
  }
  const fires: Date[] = [];
  // One millisecond earlier, so that the first one is found too.
  let fire = findNext(new Date(Math.max(startMs, from.getTime()) - 1));
  while (fire <= now) {
    fires.push(fire);
    fire = findNext(fire);
  }
  return fires.slice(-MOST_FIRES);
}

type Finder = (after: Date) => Date;

function createFinder({ schedule, timezone }: Zoned): Finder {
  const fields = parseCron(schedule);
  const find = fields.hours.length === 24 ? findShown : findNamed;
  return (after) => new Date(find(fields, timezone, after.getTime()));
}

/** A later local time never fires earlier, so the search goes on from what clocks show. */
function findNamed(fields: CronFields, timezone: string, afterMs: number): number {
  const from = localTime(afterMs, timezone);
  for (const local of walkLocalTimes(fields, { from, direction: 'forward' })) {
    const fire = fireOf(local, timezone);
    if (fire > afterMs) return fire;
  }
  throw new ScheduleError('never fires');
}

function findShown(fields: CronFields, timezone: string, afterMs: number): number {
  const shown = localTime(afterMs, timezone);
  const ahead = firstShown(fields, timezone, { from: shown, afterMs });
  const [, again] = instantsOf(shown, timezone).instants;
  if (again === undefined || again <= afterMs) return ahead;
  // Clocks will show this time again, and before that earlier ones, which may be nearer than what they have not shown yet.
  const backAt = findChange(afterMs, again, timezone);
  const from = localTime(backAt, timezone) - 1;
  return Math.min(ahead, firstShown(fields, timezone, { from, afterMs: backAt - 1 }));
}

function firstShown(
  fields: CronFields,
  timezone: string,
  { from, afterMs }: { from: number; afterMs: number },
): number {
  for (const local of walkLocalTimes(fields, { from, direction: 'forward' })) {
    const fire = instantsOf(local, timezone).instants.find((instant) => instant > afterMs);
    if (fire !== undefined) return fire;
  }
  throw new ScheduleError('never fires');
}

function fireOf(localMs: number, timezone: string): number {
  const { instants, jumpedAt } = instantsOf(localMs, timezone);
  return instants[0] ?? jumpedAt ?? Number.NaN;
}
