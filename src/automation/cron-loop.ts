import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import type { Loop } from '../work/loop.ts';
import { switchedOff } from './breaker.ts';
import { dueAt, jitterMs, missedFires } from './cron.ts';
import { ScheduleError } from './cron-fields.ts';
import { hasDueFire, lockDueFires } from './cron-store.ts';
import { createDueLoop } from './due-loop.ts';
import type { Executions } from './executions.ts';
import type { AutomationRow } from './fire.ts';
import { updateAutomation } from './store.ts';
import { cronConfigOf } from './triggers.ts';

type Parts = { db: Db; log: Logger; now: () => Date; executions: Pick<Executions, 'begin'> };

/** Begins what schedules have become due for. A fire and the time of the next one change together, so each begins once. */
export function createCronLoop({ db, log, now, executions }: Parts): Loop {
  async function fire(tx: Db, automation: AutomationRow, at: Date): Promise<void> {
    const fires = firesOf(automation, at);
    if (!fires) {
      log.error({ automationId: automation.id }, 'automation.schedule_unreadable');
      const off = switchedOff('Its schedule cannot be read any more; set it anew.');
      await updateAutomation(tx, automation.id, { ...off, updated_at: at });
      return;
    }
    for (const each of fires.begin) {
      const cause = `cron:${each.toISOString()}`;
      await executions.begin(tx, automation, { triggerType: 'cron', payload: null, cause, subject: null });
    }
    await updateAutomation(tx, automation.id, fires.columns);
  }

  return createDueLoop({
    name: 'automation.cron',
    db,
    log,
    now,
    hasDue: hasDueFire,
    take: lockDueFires,
    perform: fire,
    postpone: async (tx, { id }, until) => {
      await updateAutomation(tx, id, { cron_due_at: until });
    },
  });
}

/** What is to begin, and when the next fire comes; null when the schedule is not understood, or its zone has gone. */
function firesOf(automation: AutomationRow, at: Date) {
  const cron = cronConfigOf(automation);
  if (!cron) return { begin: [], columns: { cron_next_fire_at: null, cron_due_at: null } };
  const { schedule, timezone, catch_up: catchUp = 'latest', jitter_seconds: jitter = 0 } = cron;
  // All that is due is judged as if there were no jitter.
  const now = new Date(at.getTime() - jitterMs(automation.id, jitter));
  const from = automation.cron_next_fire_at ?? now;
  try {
    const { fires, next } = missedFires({ schedule, timezone, from, now, catchUp });
    const columns = { cron_next_fire_at: next, cron_due_at: dueAt(automation.id, next, jitter) };
    return { begin: fires, columns };
  } catch (error) {
    if (error instanceof ScheduleError || error instanceof RangeError) return null;
    throw error;
  }
}
