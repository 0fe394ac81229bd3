import { expect, test } from 'vitest';
import { retryDelayMs, verdictOf } from './delivery.ts';

test.each([
  [200, 'taken'],
  [202, 'taken'],
  [302, 'later'],
  [400, 'refused'],
  [401, 'refused'],
  [404, 'refused'],
  [408, 'later'],
  [409, 'later'],
  [413, 'refused'],
  [422, 'refused'],
  [429, 'later'],
  [500, 'later'],
  [503, 'later'],
  [0, 'later'],
] as const)('an engine that answers %d: %s', (status, verdict) => {
  expect(verdictOf(status)).toBe(verdict);
});

test('tries come soon, then further apart, and end', () => {
  const waits: number[] = [];
  for (let tries = 0; ; tries++) {
    const wait = retryDelayMs(tries);
    if (wait === null) break;
    waits.push(wait);
  }
  expect(waits[0]).toBe(50);
  expect(waits).toEqual(waits.toSorted((a, b) => a - b));
  const totalMs = waits.reduce((sum, wait) => sum + wait, 0);
  expect(totalMs).toBeGreaterThan(60_000);
  expect(totalMs).toBeLessThan(120_000);
});
