import { describe, expect, test } from 'vitest';
import { watchRetries } from './opencode-retry.ts';

describe('retries', () => {
  test('are enough after so many', () => {
    const watch = watchRetries({ mostRetries: 2, mostMs: 1_000_000 });
    const answers = [1, 2, 3].map((attempt) =>
      watch.isEnough({ attempt, atMs: attempt, nextMs: attempt + 1 }),
    );
    expect(answers).toEqual([false, false, true]);
  });

  test('are enough when the next one is too far away', () => {
    const watch = watchRetries({ mostRetries: 5, mostMs: 1_000 });
    expect(watch.isEnough({ attempt: 1, atMs: 0, nextMs: 1_001 })).toBe(true);
  });

  test('are enough when they take too long in all', () => {
    const watch = watchRetries({ mostRetries: 5, mostMs: 1_000 });
    expect(watch.isEnough({ attempt: 1, atMs: 0, nextMs: 600 })).toBe(false);
    expect(watch.isEnough({ attempt: 2, atMs: 600, nextMs: 1_200 })).toBe(true);
  });

  test('are counted anew for the next request to the model', () => {
    const watch = watchRetries({ mostRetries: 5, mostMs: 1_000 });
    expect(watch.isEnough({ attempt: 1, atMs: 0, nextMs: 900 })).toBe(false);
    expect(watch.isEnough({ attempt: 1, atMs: 50_000, nextMs: 50_900 })).toBe(false);
  });
});
