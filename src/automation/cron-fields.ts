/** What the five fields of a schedule name. */
export type CronFields = {
  /** In order, as all lists here. */
  minutes: readonly number[];
  hours: readonly number[];
  days: readonly number[];
  months: readonly number[];
  /** Sunday is 0. */
  weekdays: readonly number[];
  /** Whether one of the two is enough: so when both say something. */
  isDayOrWeekday: boolean;
};

/** The message is the rest of a sentence about the schedule. */
export class ScheduleError extends Error {
  override name = 'ScheduleError';
}

type Field = { about: string; least: number; most: number; names?: readonly string[] };

const MINUTE: Field = { about: 'minute', least: 0, most: 59 };
const HOUR: Field = { about: 'hour', least: 0, most: 23 };
const DAY: Field = { about: 'day of the month', least: 1, most: 31 };
const MONTH: Field = {
  about: 'month',
  least: 1,
  most: 12,
  names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
};
/** Sunday may be written 7, and ends a range so. */
const WEEKDAY: Field = {
  about: 'day of the week',
  least: 0,
  most: 7,
  names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
};
const LONGEST = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Reads the classic form: numbers, names of months and days, lists, ranges, and steps of `*` or of a range. */
export function parseCron(schedule: string): CronFields {
  const parts = schedule.trim().split(/\s+/);
  const [minute, hour, day, month, weekday] = parts;
  if (parts.length !== 5 || !minute || !hour || !day || !month || !weekday) {
    throw new ScheduleError('must have five fields: minute, hour, day of the month, month, day of the week');
  }
  const fields = {
    minutes: valuesOf(minute, MINUTE),
    hours: valuesOf(hour, HOUR),
    days: valuesOf(day, DAY),
    months: valuesOf(month, MONTH),
    weekdays: inOrder(valuesOf(weekday, WEEKDAY).map((value) => value % 7)),
    isDayOrWeekday: day !== '*' && weekday !== '*',
  };
  const exists = fields.months.some((each) => (fields.days[0] ?? 0) <= (LONGEST[each - 1] ?? 0));
  if (!exists && !fields.isDayOrWeekday) throw new ScheduleError('never fires: no such month has that day');
  return fields;
}

function valuesOf(text: string, field: Field): number[] {
  return inOrder(text.split(',').flatMap((item) => valuesOfItem(item, field)));
}

function valuesOfItem(item: string, field: Field): number[] {
  const { about, least, most } = field;
  const found = /^(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/.exec(item);
  const [, from, to, step] = found ?? [];
  // A single value with a step means different things to different programs.
  if (!found || (step !== undefined && from !== undefined && to === undefined)) {
    throw new ScheduleError(`has a field for the ${about} that is not understood`);
  }
  // Seven is a second name of Sunday, which `*` does not need.
  const last = field === WEEKDAY ? 6 : most;
  const low = from === undefined ? least : numberOf(from, field, 'first');
  const high = from === undefined ? last : to === undefined ? low : numberOf(to, field, 'last');
  const by = Number(step ?? 1);
  if (low < least || high > most || low > high || by < 1 || by > last - least + 1) {
    throw new ScheduleError(`has a number for the ${about} that is out of bounds`);
  }
  return Array.from({ length: Math.floor((high - low) / by) + 1 }, (_, index) => low + index * by);
}

function numberOf(text: string, field: Field, which: 'first' | 'last'): number {
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const names = field.names ?? [];
  const name = text.toLowerCase();
  const index = which === 'first' ? names.indexOf(name) : names.lastIndexOf(name);
  if (index < 0) throw new ScheduleError(`has a field for the ${field.about} that is not understood`);
  return index + field.least;
}

function inOrder(values: number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
