import type { Db } from '../db/database.ts';
import type { AutomationRow } from './fire.ts';

export async function hasDueFire(db: Db, at: Date): Promise<boolean> {
  const found = await dueAt(db, at).select('id').limit(1).executeTakeFirst();
  return found !== undefined;
}

/** Automations whose fire has come and which nobody else is at; held until the transaction ends. */
export function lockDueFires(db: Db, { at, limit }: { at: Date; limit: number }): Promise<AutomationRow[]> {
  return dueAt(db, at)
    .selectAll()
    .orderBy('cron_due_at')
    .limit(limit)
    .forNoKeyUpdate()
    .skipLocked()
    .execute();
}

function dueAt(db: Db, at: Date) {
  return db.selectFrom('automation').where('enabled', '=', true).where('cron_due_at', '<=', at);
}
