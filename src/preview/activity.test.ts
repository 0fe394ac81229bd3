import { expect, test } from 'vitest';
import { isActivityOld } from './activity.ts';

const after = (seconds: number) => new Date(1_000_000_000 + seconds * 1_000);

test.each([
  ['never used', { last: null, sleep: null, remove: null }, 0, true],
  ['used a moment ago', { last: 0, sleep: 3_600, remove: null }, 59, false],
  ['used a minute ago', { last: 0, sleep: 3_600, remove: null }, 61, true],
  ['without a time to sleep', { last: 0, sleep: null, remove: null }, 61, true],
  ['that sleeps within seconds', { last: 0, sleep: 8, remove: null }, 3, true],
  ['that sleeps within seconds and was just used', { last: 0, sleep: 8, remove: null }, 1, false],
  ['that is deleted within seconds', { last: 0, sleep: null, remove: 8 }, 3, true],
])('the activity of a replica %s', (_what, { last, sleep, remove }, at, expected) => {
  const row = {
    last_activity_at: last === null ? null : after(last),
    sleep_due_at: sleep === null ? null : after(sleep),
    delete_due_at: remove === null ? null : after(remove),
  };
  expect(isActivityOld(row, after(at))).toBe(expected);
});
