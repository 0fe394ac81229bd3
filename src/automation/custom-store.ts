import type { Db } from '../db/database.ts';
import type { AutomationRow } from './fire.ts';

export function selectByTokenHash(db: Db, hash: Buffer): Promise<AutomationRow | undefined> {
  return db
    .selectFrom('automation')
    .selectAll()
    .where('webhook_token_hash', '=', hash)
    .where('enabled', '=', true)
    .executeTakeFirst();
}

/** Whether so many runs of the automation wait to begin, or more. */
export async function hasPendingRuns(
  db: Db,
  { automationId, count }: { automationId: string; count: number },
): Promise<boolean> {
  const last = await db
    .selectFrom('automation_execution')
    .select('id')
    .where('automation_id', '=', automationId)
    .where('status', '=', 'pending')
    .orderBy('id')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst();
  return last !== undefined;
}
