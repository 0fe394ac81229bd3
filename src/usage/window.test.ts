import { describe, expect, test } from 'vitest';
import { usageWindow } from './window.ts';

const at = new Date('2026-07-15T12:00:00.000Z');

describe('the window of usage', () => {
  test.each([
    [{}, '2026-06-15T12:00:00.000Z', '2026-07-15T12:00:00.000Z'],
    [{ start: '2026-07-01' }, '2026-07-01T00:00:00.000Z', '2026-07-15T12:00:00.000Z'],
    [{ end: '2026-03-31' }, '2026-03-01T00:00:00.000Z', '2026-03-31T00:00:00.000Z'],
    [{ start: '2026-01-01', end: '2027-01-01' }, '2026-01-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    [
      { start: '2026-07-01T00:00:00+02:00', end: '2026-07-01T00:00:00Z' },
      '2026-06-30T22:00:00.000Z',
      '2026-07-01T00:00:00.000Z',
    ],
  ])('of %j is from %s to %s', (asked, start, end) => {
    expect(usageWindow(asked, at)).toEqual({ start: new Date(start), end: new Date(end) });
  });

  test.each([
    { start: '2026-07-02', end: '2026-07-01' },
    { start: '2026-07-01', end: '2026-07-01' },
    { start: '2026-07-16' },
    { start: '2025-01-01', end: '2026-01-03' },
    { start: '2001-01-01' },
    { end: '1970-01-02' },
    { start: '0000-01-01', end: '0000-01-02' },
    { start: '9999-12-31', end: '9999-12-31T23:59:59-12:00' },
  ])('refuses %j', (asked) => {
    expect(() => usageWindow(asked, at)).toThrow(/must be/);
  });
});
