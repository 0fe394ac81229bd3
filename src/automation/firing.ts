import type { Db } from '../db/database.ts';
import { type DebounceRow, deleteDebounce, putDebounce } from './debounce-store.ts';
import type { Executions } from './executions.ts';
import type { AutomationRow, Fire } from './fire.ts';

type Parts = { executions: Pick<Executions, 'begin'>; now: () => Date };

export type Firing = ReturnType<typeof createFiring>;

/**
 * What an event leads to: a run at once, or with a debounce one that waits until no more events come. Which runs there
 * will be follows from the times of the events alone, not from when somebody gets around to begin them.
 */
export function createFiring({ executions, now }: Parts) {
  async function fire(db: Db, automation: AutomationRow, event: Fire): Promise<void> {
    const { triggerType, payload, cause, subject } = event;
    const quietSeconds = automation.debounce_seconds ?? 0;
    if (quietSeconds === 0 || triggerType === 'cron' || triggerType === 'manual') {
      await executions.begin(db, automation, event);
      return;
    }
    const at = now();
    const waiting = {
      automation_id: automation.id,
      subject: subject ?? '',
      trigger_type: triggerType,
      trigger_payload: payload === null || payload === undefined ? null : JSON.stringify(payload),
      cause,
      due_at: new Date(at.getTime() + quietSeconds * 1_000),
    };
    if (await putDebounce(db, waiting, { at })) return;
    // What waits there has waited long enough, and nobody has got around to it: this event comes too late to replace it.
    const due = await deleteDebounce(db, waiting);
    if (due) await release(db, automation, due);
    await putDebounce(db, waiting, { at });
  }

  /** Begins the run that has waited. The caller takes its row away in the same transaction. */
  async function release(db: Db, automation: AutomationRow, waiting: DebounceRow): Promise<void> {
    await executions.begin(db, automation, {
      // The table allows nothing else.
      triggerType: waiting.trigger_type as Fire['triggerType'],
      payload: waiting.trigger_payload,
      cause: waiting.cause,
      subject: waiting.subject === '' ? null : waiting.subject,
    });
  }

  return { fire, release };
}
