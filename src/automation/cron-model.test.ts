import fc from 'fast-check';
import { expect, test } from 'vitest';
import { missedFires, nextFire, nextFires, scheduleRefusal } from './cron.ts';

// Holds the schedules against a clock that is read minute by minute. It shares no code with what it checks: fields are
// matched by hand, local times come as text from Intl, and what a change of clocks does is seen in the text.

const MINUTE_MS = 60_000;

/** Stretches of days around changes of clocks of every size, and some without. */
const stretches = [
  ['Europe/Berlin', '2026-03-27T00:00Z'],
  ['Europe/Berlin', '2026-10-23T00:00Z'],
  ['America/New_York', '2026-03-06T00:00Z'],
  ['America/New_York', '2026-10-30T00:00Z'],
  ['Australia/Lord_Howe', '2026-04-03T00:00Z'],
  ['Australia/Lord_Howe', '2026-10-02T00:00Z'],
  ['America/Havana', '2026-03-06T00:00Z'],
  ['America/Havana', '2026-10-30T00:00Z'],
  ['Africa/Cairo', '2026-04-22T00:00Z'],
  ['Pacific/Apia', '2011-12-28T00:00Z'],
  ['Asia/Kathmandu', '2026-02-27T00:00Z'],
  ['UTC', '2028-02-27T00:00Z'],
] as const;
const STRETCH_MINUTES = 6 * 24 * 60;

type Field = { text: string; has(value: number): boolean; isAny: boolean };
type Pattern = { minute: Field; hour: Field; day: Field; month: Field; weekday: Field };

const any: Field = { text: '*', has: () => true, isAny: true };
const numbers = (least: number, most: number) => {
  const value = fc.integer({ min: least, max: most });
  const list = fc
    .uniqueArray(value, { minLength: 1, maxLength: 4 })
    .map((given): Field => ({ text: given.join(','), has: (each) => given.includes(each), isAny: false }));
  const step = fc
    .integer({ min: 1, max: most })
    .map((by): Field => ({ text: `*/${by}`, has: (each) => (each - least) % by === 0, isAny: false }));
  const range = fc.tuple(value, value, fc.integer({ min: 1, max: 7 })).map(([one, other, by]): Field => {
    const [low, high] = [Math.min(one, other), Math.max(one, other)];
    return {
      text: `${low}-${high}/${by}`,
      has: (each) => each >= low && each <= high && (each - low) % by === 0,
      isAny: false,
    };
  });
  return fc.oneof(list, step, range, fc.constant(any));
};
/** Early hours are those in which clocks change. */
const early = fc
  .uniqueArray(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 3 })
  .map((given): Field => ({ text: given.join(','), has: (each) => given.includes(each), isAny: false }));
const pattern: fc.Arbitrary<Pattern> = fc.record({
  minute: numbers(0, 59),
  hour: fc.oneof(early, numbers(0, 23)),
  day: fc.oneof({ weight: 3, arbitrary: fc.constant(any) }, { weight: 1, arbitrary: numbers(1, 31) }),
  month: fc.constant(any),
  weekday: fc.oneof({ weight: 3, arbitrary: fc.constant(any) }, { weight: 1, arbitrary: numbers(0, 6) }),
});

test('fires are those of a clock that is read minute by minute', () => {
  fc.assert(
    fc.property(pattern, fc.constantFrom(...stretches), (given, [zone, start]) => {
      const schedule = textOf(given);
      fc.pre(scheduleRefusal(schedule, zone) === null);
      const startMs = Date.parse(start);
      const expected = modelFires(given, zone, startMs);
      const endMs = startMs + STRETCH_MINUTES * MINUTE_MS;
      const after = new Date(startMs - 1);
      const fires = nextFires(schedule, zone, { after, count: expected.length + 1 }).map(Number);
      expect(fires.filter((fire) => fire < endMs).join()).toBe(expected.join());
    }),
    { numRuns: 60 },
  );
});

test('the next fire is the same from any second before it', () => {
  const seconds = fc.integer({ min: 0, max: STRETCH_MINUTES * 60 - 1 });
  fc.assert(
    fc.property(pattern, fc.constantFrom(...stretches), seconds, (given, [zone, start], second) => {
      const schedule = textOf(given);
      fc.pre(scheduleRefusal(schedule, zone) === null);
      const after = Date.parse(start) + second * 1_000;
      const expected = modelFires(given, zone, Date.parse(start)).find((fire) => fire > after);
      fc.pre(expected !== undefined);
      expect(nextFire(schedule, zone, new Date(after)).getTime()).toBe(expected);
    }),
    { numRuns: 150 },
  );
});

test('what is made up for is the last of the fires that the clock showed', () => {
  const minutes = fc.integer({ min: 0, max: STRETCH_MINUTES - 1 });
  fc.assert(
    fc.property(pattern, fc.constantFrom(...stretches), minutes, (given, [zone, start], minute) => {
      const schedule = textOf(given);
      fc.pre(scheduleRefusal(schedule, zone) === null);
      const now = Date.parse(start) + minute * MINUTE_MS + 30_000;
      const come = modelFires(given, zone, Date.parse(start)).filter((fire) => fire <= now);
      fc.pre(come[0] !== undefined);
      const from = new Date(come[0] ?? 0);
      const { fires } = missedFires({ schedule, timezone: zone, from, now: new Date(now), catchUp: 'all' });
      expect(fires.map(Number).join()).toBe(come.slice(-100).join());
    }),
    { numRuns: 60 },
  );
});

function textOf({ minute, hour, day, month, weekday }: Pattern): string {
  return [minute, hour, day, month, weekday].map(({ text }) => text).join(' ');
}

type Shown = { minute: number; hour: number; day: number; month: number; weekday: number };
type Minute = { atMs: number; shown: Shown; isFirstTime: boolean; jumpedOver: Shown[] };

/** What a clock shows in each minute of a stretch; read once, since reading is what takes time. */
const clocks = new Map<string, Minute[]>();

function clockOf(zone: string, startMs: number): Minute[] {
  const key = `${zone} ${startMs}`;
  const known = clocks.get(key);
  if (known) return known;
  // Swedish writes dates as `2026-03-29 03:00`.
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  const seen = new Set<string>();
  const minutes: Minute[] = [];
  // One day earlier, for what clocks showed before the stretch.
  let before = format.format(startMs - 1_441 * MINUTE_MS);
  for (let index = -1_440; index < STRETCH_MINUTES; index++) {
    const atMs = startMs + index * MINUTE_MS;
    const text = format.format(atMs);
    minutes.push({
      atMs,
      shown: read(text),
      isFirstTime: !seen.has(text),
      jumpedOver: between(before, text),
    });
    seen.add(text);
    before = text;
  }
  clocks.set(key, minutes);
  return minutes;
}

function modelFires(given: Pattern, zone: string, startMs: number): number[] {
  const isHourly = ['*', '*/1', '0-23/1'].includes(given.hour.text);
  return clockOf(zone, startMs)
    .filter(({ atMs, shown, isFirstTime, jumpedOver }) => {
      if (atMs < startMs) return false;
      if (isHourly) return matches(given, shown);
      return (isFirstTime && matches(given, shown)) || jumpedOver.some((each) => matches(given, each));
    })
    .map(({ atMs }) => atMs);
}

/** What a clock would have shown between two minutes, had it not jumped. */
function between(before: string, text: string): Shown[] {
  const [from, to] = [Date.parse(`${before}Z`), Date.parse(`${text}Z`)];
  const jumped: Shown[] = [];
  for (let each = from + MINUTE_MS; each < to; each += MINUTE_MS) {
    jumped.push(read(new Date(each).toISOString().slice(0, 16).replace('T', ' ')));
  }
  return jumped;
}

function read(text: string): Shown {
  const [, month = 0, day = 0, hour = 0, minute = 0] = text.split(/\D/).map(Number);
  return { minute, hour, day, month, weekday: new Date(`${text.slice(0, 10)}T00:00Z`).getUTCDay() };
}

function matches({ minute, hour, day, month, weekday }: Pattern, shown: Shown): boolean {
  if (!minute.has(shown.minute) || !hour.has(shown.hour) || !month.has(shown.month)) return false;
  const [isDay, isWeekday] = [day.has(shown.day), weekday.has(shown.weekday)];
  return day.isAny || weekday.isAny ? isDay && isWeekday : isDay || isWeekday;
}
