import { describe, expect, test } from 'vitest';
import { dueAt } from './cron.ts';
import { keepsSchedule, scheduleColumns } from './schedule.ts';

const id = '01890000-0000-7000-8000-0123456789ab';
const at = new Date('2026-03-27T12:00:30Z');
const cron = (config: object) => [{ type: 'cron', config: { timezone: 'UTC', ...config } }];
const daily = cron({ schedule: '0 6 * * *' });
const none = [{ type: 'custom', config: {} }];

describe('the schedule of an automation', () => {
  test('names its next fire, and when that is due with its jitter', () => {
    const triggers = cron({ schedule: '0 6 * * *', jitter_seconds: 600 });
    const next = new Date('2026-03-28T06:00:00Z');
    expect(scheduleColumns({ id, triggers, enabled: true }, at)).toEqual({
      cron_expression: '0 6 * * *',
      cron_timezone: 'UTC',
      cron_next_fire_at: next,
      cron_due_at: dueAt(id, next, 600),
    });
  });

  test('fires never while the automation is off', () => {
    expect(scheduleColumns({ id, triggers: daily, enabled: false }, at)).toEqual({
      cron_expression: '0 6 * * *',
      cron_timezone: 'UTC',
      cron_next_fire_at: null,
      cron_due_at: null,
    });
  });

  test('is nothing without a cron trigger', () => {
    expect(Object.values(scheduleColumns({ id, triggers: none, enabled: true }, at))).toEqual([
      null,
      null,
      null,
      null,
    ]);
  });
});

describe('a change that leaves the times of fires as they are', () => {
  const before = { id, triggers: daily, enabled: true };
  test.each([
    ['other triggers beside it', { triggers: [...daily, ...none] }, true],
    ['another rule for missed fires', { triggers: cron({ schedule: '0 6 * * *', catch_up: 'all' }) }, true],
    ['no jitter, said aloud', { triggers: cron({ schedule: '0 6 * * *', jitter_seconds: 0 }) }, true],
    ['some jitter', { triggers: cron({ schedule: '0 6 * * *', jitter_seconds: 5 }) }, false],
    ['another schedule', { triggers: cron({ schedule: '0 7 * * *' }) }, false],
    ['another zone', { triggers: cron({ schedule: '0 6 * * *', timezone: 'Europe/Berlin' }) }, false],
    ['no schedule', { triggers: none }, false],
    ['switching it off', { enabled: false }, false],
  ])('%s: %s', (_what, change, keeps) => {
    expect(keepsSchedule(before, { ...before, ...change })).toBe(keeps);
  });
});
