import { dueAt, nextFire } from './cron.ts';
import { cronConfigOf } from './triggers.ts';

type Scheduled = { id: string; triggers: unknown; enabled: boolean };
type Columns = {
  cron_expression: string | null;
  cron_timezone: string | null;
  cron_next_fire_at: Date | null;
  cron_due_at: Date | null;
};

/** What the cron trigger of an automation comes to from now on; one that is switched off fires never. */
export function scheduleColumns(automation: Scheduled, at: Date): Columns {
  const cron = cronConfigOf(automation);
  if (!cron)
    return { cron_expression: null, cron_timezone: null, cron_next_fire_at: null, cron_due_at: null };
  const { schedule, timezone, jitter_seconds = 0 } = cron;
  const next = automation.enabled ? nextFire(schedule, timezone, at) : null;
  return {
    cron_expression: schedule,
    cron_timezone: timezone,
    cron_next_fire_at: next,
    cron_due_at: next && dueAt(automation.id, next, jitter_seconds),
  };
}

/** Whether an automation fires at the same times as before, so that a fire that is about to come is not passed over. */
export function keepsSchedule(before: Scheduled, after: Scheduled): boolean {
  const [old, fresh] = [cronConfigOf(before), cronConfigOf(after)];
  return (
    before.enabled === after.enabled &&
    old?.schedule === fresh?.schedule &&
    old?.timezone === fresh?.timezone &&
    (old?.jitter_seconds ?? 0) === (fresh?.jitter_seconds ?? 0)
  );
}
