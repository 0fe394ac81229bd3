import { expect, test } from 'vitest';
import { firstAskMs, isGivenUp, type Silence, silenceTimes as times } from './silence.ts';

type Others = { answering: number; silent: number };
const long: Silence = { failures: 4, sinceMs: 0 };

test.each<[string, Silence, number, Others, boolean]>([
  ['silent often and long, while another answers', long, 45_000, { answering: 1, silent: 1 }, true],
  ['silent long, but not often', { ...long, failures: 3 }, 60_000, { answering: 9, silent: 1 }, false],
  ['silent often, but not long', long, 44_999, { answering: 9, silent: 1 }, false],
  ['the only one', long, 100_000, { answering: 0, silent: 1 }, false],
  ['the only one for very long', long, 180_000, { answering: 0, silent: 1 }, true],
  ['one of many that are silent', long, 100_000, { answering: 40, silent: 60 }, false],
  ['one of many that are silent for very long', long, 180_000, { answering: 40, silent: 60 }, true],
])('an engine that is %s', (_name, silence, nowMs, others, expected) => {
  expect(isGivenUp(silence, { nowMs, ...others, times })).toBe(expected);
});

test('a hundred engines are asked a few times a second, and never together', () => {
  const moments = Array.from({ length: 100 }, (_, index) =>
    firstAskMs(index, { count: 100, nowMs: 0, times }),
  );
  expect(new Set(moments).size).toBe(100);
  for (let second = 0; second < 30; second += 1) {
    const asked = moments.filter((at) => at > second * 1_000 && at <= (second + 1) * 1_000);
    expect(asked.length).toBeLessThanOrEqual(4);
  }
});
