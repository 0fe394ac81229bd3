import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTokenBuckets } from './token-bucket.ts';

const START_MS = 1_700_000_000_000;

describe('createTokenBuckets', () => {
  test('allows a burst of the capacity, then refuses and says when to come back', () => {
    const buckets = createTokenBuckets({ capacity: 3, refillPerSecond: 0.5, maxEntries: 10 });
    const results = [0, 0, 0, 0].map((after) => buckets.take('a', START_MS + after));
    expect(results).toEqual([
      { allowed: true, limit: 3, remaining: 2, resetSeconds: 2, retryAfterSeconds: 0 },
      { allowed: true, limit: 3, remaining: 1, resetSeconds: 4, retryAfterSeconds: 0 },
      { allowed: true, limit: 3, remaining: 0, resetSeconds: 6, retryAfterSeconds: 0 },
      { allowed: false, limit: 3, remaining: 0, resetSeconds: 6, retryAfterSeconds: 2 },
    ]);
    expect(buckets.take('a', START_MS + 1999).allowed).toBe(false);
    expect(buckets.take('a', START_MS + 2000).allowed).toBe(true);
  });

  test('a refused take costs nothing and asks for at least a second', () => {
    const buckets = createTokenBuckets({ capacity: 1, refillPerSecond: 1000, maxEntries: 10 });
    buckets.take('a', START_MS);
    for (let i = 0; i < 100; i += 1) expect(buckets.take('a', START_MS).retryAfterSeconds).toBe(1);
    expect(buckets.take('a', START_MS + 1).allowed).toBe(true);
  });

  test('still counts at the highest rate and with the largest clock', () => {
    const buckets = createTokenBuckets({ capacity: 2, refillPerSecond: 10_000_000, maxEntries: 10 });
    expect([1, 2, 3].map(() => buckets.take('a', START_MS).allowed)).toEqual([true, true, false]);
  });

  test('a clock set back by a day empties the bucket at most', () => {
    const buckets = createTokenBuckets({ capacity: 2, refillPerSecond: 1, maxEntries: 10 });
    buckets.take('a', START_MS);
    const earlier = START_MS - 86_400_000;
    expect(buckets.take('a', earlier)).toMatchObject({ allowed: false, retryAfterSeconds: 1 });
    expect(buckets.take('a', earlier + 1000).allowed).toBe(true);
  });

  test('drops buckets that are full again', () => {
    const buckets = createTokenBuckets({ capacity: 5, refillPerSecond: 1, maxEntries: 1000 });
    for (let i = 0; i < 100; i += 1) buckets.take(`key ${i}`, START_MS);
    expect(buckets.size).toBe(100);
    for (let i = 0; i < 50; i += 1) buckets.take('other', START_MS + 1000 + i);
    expect(buckets.size).toBe(1);
  });

  test('holds no more than maxEntries and forgets the key that was quiet longest', () => {
    const buckets = createTokenBuckets({ capacity: 1, refillPerSecond: 0.001, maxEntries: 2 });
    buckets.take('a', START_MS);
    buckets.take('b', START_MS);
    buckets.take('a', START_MS);
    buckets.take('c', START_MS);
    expect(buckets.size).toBe(2);
    expect(buckets.take('a', START_MS).allowed).toBe(false);
    expect(buckets.take('b', START_MS).allowed).toBe(true);
  });

  test.each([
    { capacity: 0, refillPerSecond: 1, maxEntries: 1 },
    { capacity: 1.5, refillPerSecond: 1, maxEntries: 1 },
    { capacity: 1, refillPerSecond: 0, maxEntries: 1 },
    { capacity: 1, refillPerSecond: Number.NaN, maxEntries: 1 },
    { capacity: 1, refillPerSecond: 1, maxEntries: 0 },
  ])('refuses the senseless options %o', (options) => {
    expect(() => createTokenBuckets(options)).toThrow(RangeError);
  });

  test('agrees with a model that counts tokens in whole thousandths', () => {
    const takes = fc.array(
      fc.record({ key: fc.constantFrom('a', 'b', 'c'), afterMs: fc.nat({ max: 3000 }) }),
      {
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 9 }),
        takes,
        (capacity, rate, steps) => {
          const buckets = createTokenBuckets({ capacity, refillPerSecond: rate, maxEntries: 3 });
          const model = new Map<string, { thousandths: number; atMs: number }>();
          let nowMs = START_MS;
          for (const { key, afterMs } of steps) {
            nowMs += afterMs;
            const before = model.get(key) ?? { thousandths: capacity * 1000, atMs: nowMs };
            const refilled = before.thousandths + (nowMs - before.atMs) * rate;
            let thousandths = Math.min(capacity * 1000, refilled);
            const allowed = thousandths >= 1000;
            const retryAfterSeconds = allowed ? 0 : Math.ceil((1000 - thousandths) / rate / 1000);
            if (allowed) thousandths -= 1000;
            model.set(key, { thousandths, atMs: nowMs });
            expect(buckets.take(key, nowMs)).toEqual({
              allowed,
              limit: capacity,
              remaining: Math.floor(thousandths / 1000),
              resetSeconds: Math.ceil((capacity * 1000 - thousandths) / rate / 1000),
              retryAfterSeconds,
            });
          }
        },
      ),
    );
  });

  test('never lets more through than capacity plus what was refilled', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.double({ min: 0.01, max: 50, noNaN: true }),
        fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { maxLength: 100 }),
        (capacity, refillPerSecond, gaps) => {
          const buckets = createTokenBuckets({ capacity, refillPerSecond, maxEntries: 1 });
          let nowMs = START_MS;
          let allowed = 0;
          for (const gap of gaps) {
            nowMs += gap;
            if (buckets.take('a', nowMs).allowed) allowed += 1;
          }
          const refilled = ((nowMs - START_MS) / 1000) * refillPerSecond;
          expect(allowed).toBeLessThanOrEqual(capacity + refilled + 1e-6);
        },
      ),
    );
  });
});
