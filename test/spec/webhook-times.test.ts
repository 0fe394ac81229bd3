import { expect, test } from 'vitest';
import { webhookTimes } from '../../src/webhook/times.ts';

test('a receiver has ten seconds for an answer, and is asked three times more, each time after a longer pause', () => {
  const { limitMs, backOffMs } = webhookTimes;
  expect(limitMs).toBe(10_000);
  expect(backOffMs).toHaveLength(3);
  expect(backOffMs.toSorted((a, b) => a - b)).toEqual(backOffMs);
  expect(new Set(backOffMs).size).toBe(3);
});
