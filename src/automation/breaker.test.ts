import { expect, test } from 'vitest';
import { afterRun, type RunEnd } from './breaker.ts';

const completed: RunEnd = { status: 'completed' };
const failed: RunEnd = { status: 'failed', error: 'It broke.', isCounted: true };
const ended: RunEnd = { status: 'failed', error: 'Somebody ended it.', isCounted: false };
const off = {
  enabled: false,
  disabled_reason: '5 runs in a row have failed. It broke.',
  cron_next_fire_at: null,
  cron_due_at: null,
};

test.each([
  ['a success after none changes nothing', 0, true, completed, {}],
  ['a success forgets the failures before it', 4, true, completed, { failure_count: 0 }],
  ['a first failure is counted', 0, true, failed, { failure_count: 1 }],
  ['a fourth failure leaves it on', 3, true, failed, { failure_count: 4 }],
  ['a fifth failure switches it off and says why', 4, true, failed, { failure_count: 5, ...off }],
  ['one that is off is not switched off again', 7, false, failed, { failure_count: 8 }],
  ['what a person has ended is no failure', 4, true, ended, {}],
])('%s', (_what, failureCount, enabled, end, change) => {
  expect(afterRun({ failure_count: failureCount, enabled }, end)).toEqual(change);
});

test('a reason is no longer than a record should be', () => {
  const { disabled_reason } = afterRun(
    { failure_count: 4, enabled: true },
    { status: 'failed', error: 'x'.repeat(100_000), isCounted: true },
  );
  expect(disabled_reason?.length).toBe(2_000);
});
