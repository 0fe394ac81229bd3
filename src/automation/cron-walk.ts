import type { CronFields } from './cron-fields.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Leap days are eight years apart at most. */
const MOST_DAYS = 9 * 366;

type Walk = { from: number; direction: 'forward' | 'backward' };

/**
 * The local times that a schedule names, after `from` or before it. It reckons with days of 24 hours, as all local times are
 * written; what clocks do is looked at elsewhere.
 */
export function* walkLocalTimes(fields: CronFields, { from, direction }: Walk): Generator<number> {
  const isForward = direction === 'forward';
  const times = fields.hours.flatMap((hour) =>
    fields.minutes.map((minute) => (hour * 60 + minute) * MINUTE_MS),
  );
  if (!isForward) times.reverse();
  const step = isForward ? DAY_MS : -DAY_MS;
  let day = from - (((from % DAY_MS) + DAY_MS) % DAY_MS);
  // Counted anew from each day that is named.
  for (let days = 0; days < MOST_DAYS; days++, day += step) {
    if (!namesDay(fields, new Date(day))) continue;
    for (const time of times) {
      const isAhead = isForward ? day + time > from : day + time < from;
      if (isAhead) yield day + time;
    }
    days = 0;
  }
}

function namesDay(fields: CronFields, date: Date): boolean {
  if (!fields.months.includes(date.getUTCMonth() + 1)) return false;
  const isDay = fields.days.includes(date.getUTCDate());
  const isWeekday = fields.weekdays.includes(date.getUTCDay());
  return fields.isDayOrWeekday ? isDay || isWeekday : isDay && isWeekday;
}
