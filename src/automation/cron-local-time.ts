/**
 * Clocks of time zones. A local time is written as the milliseconds it would have in UTC, so that it can be reckoned with;
 * it is no instant. When clocks go back a local time has two instants, and when they go forward some have none.
 */

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** One for each zone: making one costs a hundred times what using it does. Names are known in any case, and kept in one. */
const formats = new Map<string, Intl.DateTimeFormat>();

export function isKnownZone(zone: string): boolean {
  // An offset such as +02:00 is no zone, though the library takes it for one.
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    formatOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** What a clock in the zone shows at that instant, to the second. */
export function localTime(instantMs: number, zone: string): number {
  // American, as in 3/29/2026, 03:00:00.
  const [month = 1, day, year = 0, hour, minute, second] = formatOf(zone)
    .format(instantMs)
    .split(/\D+/)
    .map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

export type LocalInstants = {
  /** When clocks of the zone show the local time: once, twice, or never. */
  instants: readonly number[];
  /** When they have gone forward over it, if they never show it. */
  jumpedAt: number | null;
};

export function instantsOf(localMs: number, zone: string): LocalInstants {
  const before = offsetAt(localMs - DAY_MS, zone);
  const after = offsetAt(localMs + DAY_MS, zone);
  if (before === after) return { instants: [localMs - before], jumpedAt: null };
  const instants = [...new Set([localMs - before, localMs - after])]
    .filter((instant) => localTime(instant, zone) === localMs)
    .sort((a, b) => a - b);
  if (instants.length > 0) return { instants, jumpedAt: null };
  return { instants, jumpedAt: findChange(localMs - after, localMs - before, zone) };
}

/** The first whole minute after `from` and not after that of `to` with another offset than `from` has. */
export function findChange(from: number, to: number, zone: string): number {
  const offset = offsetAt(from, zone);
  let low = from - (from % MINUTE_MS);
  let high = to - (to % MINUTE_MS);
  while (high - low > MINUTE_MS) {
    const middle = low + Math.round((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
    if (offsetAt(middle, zone) === offset) low = middle;
    else high = middle;
  }
  return high;
}

function offsetAt(instantMs: number, zone: string): number {
  return localTime(instantMs, zone) - instantMs;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const key = zone.toLowerCase();
  const known = formats.get(key);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  formats.set(key, format);
  return format;
}
