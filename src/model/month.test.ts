import { expect, test } from 'vitest';
import { monthOf } from './month.ts';

test.each([
  ['2026-01-01T00:00:00.000Z', '2026-01-01', '2026-02-01'],
  ['2026-01-31T23:59:59.999Z', '2026-01-01', '2026-02-01'],
  ['2026-02-01T00:00:00.000Z', '2026-02-01', '2026-03-01'],
  ['2028-02-29T12:00:00.000Z', '2028-02-01', '2028-03-01'],
  ['2026-12-31T23:00:00.000-02:00', '2027-01-01', '2027-02-01'],
])('the month of %s begins on %s and ends before %s', (at, start, end) => {
  expect(monthOf(new Date(at))).toEqual({ start: new Date(start), end: new Date(end) });
});
