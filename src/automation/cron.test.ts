import { describe, expect, test } from 'vitest';
import { type CatchUp, dueAt, missedFires, nextFire, nextFires, scheduleRefusal } from './cron.ts';

const firesOf = (schedule: string, timezone: string, after: string, count: number) =>
  nextFires(schedule, timezone, { after: new Date(after), count }).map((fire) => fire.toISOString());
const at = (...times: string[]) => times.map((time) => new Date(time).toISOString());

describe('a schedule is taken', () => {
  test.each([
    '* * * * *',
    '*/15 9-17 * * MON-FRI',
    '0 9 1,15 jan-MAR,dec *',
    '0 9 * * 7',
    '0 9 * * FRI-SUN',
    '5-50/5 * * * *',
    '0 0 29 2 *',
    '  0\t9  * * *  ',
  ])('%s', (schedule) => {
    expect(scheduleRefusal(schedule, 'Europe/Berlin')).toBeNull();
  });
});

describe('a schedule is refused', () => {
  test.each([
    ['', 'must have five fields'],
    ['@daily', 'must have five fields'],
    ['0 0 * *', 'must have five fields'],
    ['0 * * * * *', 'must have five fields'],
    ['0 0 * * * * 2030', 'must have five fields'],
    ['60 * * * *', 'out of bounds'],
    ['0 24 * * *', 'out of bounds'],
    ['0 9 0 * *', 'out of bounds'],
    ['0 9 * 13 *', 'out of bounds'],
    ['0 9 * * 8', 'out of bounds'],
    ['*/0 * * * *', 'out of bounds'],
    ['*/70 * * * *', 'out of bounds'],
    ['0 9 * * SAT-MON', 'out of bounds'],
    ['5/15 * * * *', 'field for the minute that is not understood'],
    ['0 MON * * *', 'field for the hour that is not understood'],
    ['0 9 L * *', 'field for the day of the month that is not understood'],
    ['0 9 15W * *', 'field for the day of the month that is not understood'],
    ['0 9 ? * *', 'field for the day of the month that is not understood'],
    ['0 9 1-2-3 * *', 'field for the day of the month that is not understood'],
    ['0 9 1,,2 * *', 'field for the day of the month that is not understood'],
    ['0 9 * MON *', 'field for the month that is not understood'],
    ['0 9 * * MON#2', 'field for the day of the week that is not understood'],
    ['0 9 * * 5L', 'field for the day of the week that is not understood'],
    ['0 9 * * +MON', 'field for the day of the week that is not understood'],
    ['0 0 30 2 *', 'never fires'],
    ['0 0 31 2,4,6,9,11 *', 'never fires'],
  ])('%s', (schedule, reason) => {
    expect(scheduleRefusal(schedule, 'UTC')).toContain(reason);
  });

  test.each(['', 'Nowhere/City', '+02:00', 'UTC+2', 'Europe/Berlin\0'])('in the zone %j', (timezone) => {
    expect(scheduleRefusal('0 9 * * *', timezone)).toContain('time zone');
  });
});

describe('the fires of a schedule', () => {
  test.each([
    ['named times', '0 9,17 * * *', 'UTC', '2026-01-01T09:00Z', ['2026-01-01T17:00Z', '2026-01-02T09:00Z']],
    ['a time within a minute', '* * * * *', 'UTC', '2026-01-01T09:00:30.500Z', ['2026-01-01T09:01Z']],
    ['a leap day', '0 0 29 2 *', 'UTC', '2026-01-01T00:00Z', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
    ['days that a leap February lacks', '0 0 */3 * *', 'UTC', '2028-02-28T00:00Z', ['2028-03-01T00:00Z']],
    ['a leap day over 2100', '0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', ['2104-02-29T00:00Z']],
    [
      'a day of the month or of the week',
      '0 0 13 * FRI',
      'UTC',
      '2026-02-10T00:00Z',
      ['2026-02-13T00:00Z', '2026-02-20T00:00Z', '2026-02-27T00:00Z', '2026-03-06T00:00Z'],
    ],
    ['the end of a year', '59 23 31 12 *', 'Asia/Tokyo', '2026-06-01T00:00Z', ['2026-12-31T14:59Z']],
    ['a zone of odd minutes', '0 9 * * *', 'Asia/Kathmandu', '2026-01-01T00:00Z', ['2026-01-01T03:15Z']],
  ])('with %s', (_what, schedule, timezone, after, expected) => {
    expect(firesOf(schedule, timezone, after, expected.length)).toEqual(at(...expected));
  });
});

describe('on the day clocks go forward', () => {
  test.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    ['30 2 * * *', 'America/New_York', '2026-03-07T12:00Z', ['2026-03-08T07:00Z', '2026-03-09T06:30Z']],
    ['15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T12:00Z', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
    // All times that were jumped over are one fire, also with the time that comes right after.
    ['0,30 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-29T01:30Z']],
    ['30 2,14 * * *', 'Europe/Berlin', '2026-03-28T14:00Z', ['2026-03-29T01:00Z', '2026-03-29T12:30Z']],
    ['0 3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T01:00Z']],
    ['30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', ['2026-03-29T00:30Z', '2026-03-29T01:30Z']],
    ['0 * * * *', 'Australia/Lord_Howe', '2026-10-03T14:00Z', ['2026-10-03T14:30Z', '2026-10-03T16:00Z']],
    ['30 0 * * *', 'Africa/Cairo', '2026-04-23T12:00Z', ['2026-04-23T22:00Z', '2026-04-24T21:30Z']],
  ])('%s in %s', (schedule, timezone, after, expected) => {
    expect(firesOf(schedule, timezone, after, expected.length)).toEqual(at(...expected));
  });
});

describe('on the day clocks go back', () => {
  test.each([
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    ['30 1 * * *', 'America/New_York', '2026-10-31T12:00Z', ['2026-11-01T05:30Z', '2026-11-02T06:30Z']],
    ['45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00Z', ['2026-04-04T14:45Z', '2026-04-05T15:15Z']],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-10-25T00:10Z', ['2026-10-25T00:30Z', '2026-10-26T01:00Z']],
    // From within the second hour that shows the same times.
    ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10Z', ['2026-10-26T01:30Z']],
    ['30 2,14 * * *', 'Europe/Berlin', '2026-10-24T13:00Z', ['2026-10-25T00:30Z', '2026-10-25T13:30Z']],
    [
      '30 * * * *',
      'Europe/Berlin',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:30Z', '2026-10-25T01:30Z', '2026-10-25T02:30Z'],
    ],
  ])('%s in %s', (schedule, timezone, after, expected) => {
    expect(firesOf(schedule, timezone, after, expected.length)).toEqual(at(...expected));
  });
});

test.each([
  ['x', 'UTC'],
  ['0 9 * * *', 'Nowhere/City'],
  ['0 0 30 2 *', 'UTC'],
])('a schedule that would be refused has no next fire: %s in %s', (schedule, timezone) => {
  expect(() => nextFire(schedule, timezone, new Date(0))).toThrow();
});

describe('jitter', () => {
  const fireAt = new Date('2026-01-01T09:00:00Z');

  test('is the same at each fire of an automation, and at most as long as asked for', () => {
    for (let number = 0; number < 200; number++) {
      const laterMs = dueAt(`automation-${number}`, fireAt, 90).getTime() - fireAt.getTime();
      expect(laterMs).toBeGreaterThanOrEqual(0);
      expect(laterMs).toBeLessThanOrEqual(90_000);
      const another = new Date(fireAt.getTime() + 86_400_000);
      expect(dueAt(`automation-${number}`, another, 90).getTime() - another.getTime()).toBe(laterMs);
    }
  });

  test('spreads automations, and none is none', () => {
    const dues = Array.from({ length: 200 }, (_, number) => dueAt(`${number}`, fireAt, 3_600).getTime());
    expect(new Set(dues).size).toBeGreaterThan(190);
    expect(dueAt('any', fireAt, 0)).toEqual(fireAt);
  });
});

describe('what begins after the service was down', () => {
  const hourly = { schedule: '0 * * * *', timezone: 'UTC', from: new Date('2026-01-01T09:00Z') };
  test.each<[CatchUp, string, string[]]>([
    ['latest', '2026-01-01T09:00:59Z', ['2026-01-01T09:00Z']],
    ['skip', '2026-01-01T09:00:59Z', ['2026-01-01T09:00Z']],
    ['all', '2026-01-01T09:00:59Z', ['2026-01-01T09:00Z']],
    ['latest', '2026-01-01T11:30Z', ['2026-01-01T11:00Z']],
    ['skip', '2026-01-01T11:30Z', []],
    ['all', '2026-01-01T11:30Z', ['2026-01-01T09:00Z', '2026-01-01T10:00Z', '2026-01-01T11:00Z']],
    ['latest', '2026-01-01T11:00:10Z', ['2026-01-01T11:00Z']],
    ['skip', '2026-01-01T11:00:10Z', ['2026-01-01T11:00Z']],
    ['all', '2026-01-01T08:59Z', []],
  ])('with %s at %s', (catchUp, now, expected) => {
    const { fires, next } = missedFires({ ...hourly, now: new Date(now), catchUp });
    expect(fires).toEqual(expected.map((fire) => new Date(fire)));
    expect(next).toEqual(nextFire(hourly.schedule, 'UTC', new Date(now)));
  });

  test('years are looked through at once, and the last hundred fires are made up for', () => {
    const now = new Date('2026-01-01T00:00:30Z');
    const { fires, next } = missedFires({
      schedule: '* * * * *',
      timezone: 'Europe/Berlin',
      from: new Date('2016-01-01T00:00Z'),
      now,
      catchUp: 'all',
    });
    expect(fires).toHaveLength(100);
    expect(fires[0]).toEqual(new Date('2025-12-31T22:21Z'));
    expect(fires.at(-1)).toEqual(new Date('2026-01-01T00:00Z'));
    expect(next).toEqual(new Date('2026-01-01T00:01Z'));
  });
});
