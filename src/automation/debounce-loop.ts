import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import type { Loop } from '../work/loop.ts';
import { type DebounceRow, deleteDueDebounces, hasDueDebounce, updateDueAt } from './debounce-store.ts';
import { createDueLoop } from './due-loop.ts';
import type { Firing } from './firing.ts';
import { selectAutomationById } from './store.ts';

type Parts = { db: Db; log: Logger; now: () => Date; firing: Pick<Firing, 'release'> };

/** Begins the runs that have waited until no more events came. Those of an automation that is switched off are dropped. */
export function createDebounceLoop({ db, log, now, firing }: Parts): Loop {
  async function release(tx: Db, waiting: DebounceRow): Promise<void> {
    const automation = await selectAutomationById(tx, waiting.automation_id);
    if (automation?.enabled) await firing.release(tx, automation, waiting);
  }

  return createDueLoop({
    name: 'automation.debounce',
    db,
    log,
    now,
    hasDue: hasDueDebounce,
    take: deleteDueDebounces,
    perform: release,
    postpone: updateDueAt,
  });
}
