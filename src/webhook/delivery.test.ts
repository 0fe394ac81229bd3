import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AttemptEnd, judgeAttempt } from './delivery.ts';
import { webhookTimes } from './times.ts';

const at = new Date('2026-03-04T05:06:07Z');
const { backOffMs } = webhookTimes;
const answered = (status: number, retryAfter: string | null = null): AttemptEnd => ({ status, retryAfter });
const lost = (isFinal = false): AttemptEnd => ({ status: null, error: 'x', isFinal });
const judge = (end: AttemptEnd, attempts = 1, random = 0) =>
  judgeAttempt(end, { attempts, backOffMs, at, random: () => random });

describe('after the first attempt', () => {
  test.each<[AttemptEnd, ReturnType<typeof judgeAttempt>['state']]>([
    [answered(200), 'delivered'],
    [answered(204), 'delivered'],
    [answered(299), 'delivered'],
    [answered(300), 'failed'],
    [answered(301), 'failed'],
    [answered(304), 'failed'],
    [answered(308), 'failed'],
    [answered(400), 'failed'],
    [answered(401), 'failed'],
    [answered(404), 'failed'],
    [answered(408), 'failed'],
    [answered(410), 'failed'],
    [answered(429), 'pending'],
    [answered(499), 'failed'],
    [answered(500), 'pending'],
    [answered(503), 'pending'],
    [answered(599), 'pending'],
    [answered(600), 'failed'],
    [lost(), 'pending'],
    [lost(true), 'failed'],
  ])('%j means %s', (end, state) => {
    expect(judge(end).state).toBe(state);
  });
});

describe('the pause before a retry', () => {
  test.each<[attempts: number, random: number, waitMs: number]>([
    [1, 0, 1_000],
    [1, 0.5, 1_100],
    [2, 0, 5_000],
    [2, 1, 6_000],
    [3, 0, 25_000],
    [3, 1, 30_000],
  ])('after attempt %i with a chance of %d is %i ms', (attempts, random, waitMs) => {
    expect(judge(lost(), attempts, random)).toEqual({ state: 'pending', waitMs });
  });

  test('after the fourth attempt there is none', () => {
    expect(judge(lost(), 4)).toEqual({ state: 'failed' });
    expect(judge(answered(503, '1'), 4)).toEqual({ state: 'failed' });
    expect(judge(answered(200), 4)).toEqual({ state: 'delivered' });
  });

  test.each<[retryAfter: string, waitMs: number]>([
    ['0', 1_000],
    ['1', 1_000],
    ['7', 7_000],
    ['600', 600_000],
    ['601', 600_000],
    ['9'.repeat(400), 600_000],
    ['Wed, 04 Mar 2026 05:06:17 GMT', 10_000],
    ['Wed, 04 Mar 2026 05:06:07 GMT', 1_000],
    ['Wed, 04 Mar 2020 05:06:07 GMT', 1_000],
    ['Wed, 04 Mar 2099 05:06:07 GMT', 600_000],
    ['soon', 1_000],
    ['', 1_000],
    ['-5', 1_000],
    ['1.5', 1_000],
    ['2026', 600_000],
  ])('with Retry-After: %s is %i ms', (retryAfter, waitMs) => {
    for (const status of [429, 503]) {
      expect(judge(answered(status, retryAfter))).toEqual({ state: 'pending', waitMs });
    }
  });
});

const end = fc.oneof(
  fc.record({
    status: fc.oneof(fc.integer({ min: 100, max: 999 }), fc.constantFrom(200, 429, 500, 503)),
    retryAfter: fc.oneof(
      fc.constant(null),
      fc.string(),
      fc.nat({ max: 2_000 }).map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    ),
  }),
  fc.record({ status: fc.constant(null), error: fc.string(), isFinal: fc.boolean() }),
);
const isGood = ({ status }: AttemptEnd) => status !== null && status >= 200 && status < 300;
const isPassing = (one: AttemptEnd) =>
  one.status === null ? !one.isFinal : one.status === 429 || (one.status >= 500 && one.status < 600);

test('whatever a receiver does, a delivery has at most four attempts, never early, and ends as its last one says', () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const property = fc.property(
    fc.array(fc.tuple(end, chance), { minLength: 6, maxLength: 6 }),
    fc.date({ noInvalidDate: true, min: new Date('2000-01-01'), max: new Date('2200-01-01') }),
    (behaviour, start) => {
      let clockMs = start.getTime();
      for (const [index, [one, random]] of behaviour.entries()) {
        const attempts = index + 1;
        const verdict = judgeAttempt(one, {
          attempts,
          backOffMs,
          at: new Date(clockMs),
          random: () => random,
        });
        if (verdict.state !== 'pending') {
          expect(verdict.state).toBe(isGood(one) ? 'delivered' : 'failed');
          expect(attempts).toBeLessThanOrEqual(4);
          // It is given up early only for what another attempt cannot change.
          if (verdict.state === 'failed' && attempts < 4) expect(isPassing(one)).toBe(false);
          return;
        }
        expect(isPassing(one)).toBe(true);
        const pauseMs = backOffMs[index] ?? Number.NaN;
        expect(verdict.waitMs).toBeGreaterThanOrEqual(pauseMs);
        expect(verdict.waitMs).toBeLessThanOrEqual(600_000);
        const hasAsked = one.status !== null && one.retryAfter !== null;
        if (!hasAsked) expect(verdict.waitMs).toBeLessThanOrEqual(pauseMs * 1.2 + 1);
        clockMs += verdict.waitMs;
      }
      throw new Error('a delivery never ended');
    },
  );
  fc.assert(property, { numRuns: 500 });
});
