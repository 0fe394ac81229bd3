import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { AutomationDebounce } from '../db/schema.ts';

export type DebounceRow = Selectable<AutomationDebounce>;
type Key = Pick<DebounceRow, 'automation_id' | 'subject'>;

/**
 * Puts the event in the place of the one that waits, if one does. False when that one has waited long enough at that time:
 * then it stays as it is, and is held until the transaction ends.
 */
export async function putDebounce(
  db: Db,
  row: Insertable<AutomationDebounce>,
  { at }: { at: Date },
): Promise<boolean> {
  const put = await db
    .insertInto('automation_debounce')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['automation_id', 'subject'])
        .doUpdateSet((is) => ({
          trigger_type: is.ref('excluded.trigger_type'),
          trigger_payload: is.ref('excluded.trigger_payload'),
          cause: is.ref('excluded.cause'),
          due_at: is.ref('excluded.due_at'),
        }))
        .where('automation_debounce.due_at', '>', at),
    )
    .returning('due_at')
    .executeTakeFirst();
  return put !== undefined;
}

export function deleteDebounce(db: Db, key: Key): Promise<DebounceRow | undefined> {
  return db
    .deleteFrom('automation_debounce')
    .where('automation_id', '=', key.automation_id)
    .where('subject', '=', key.subject)
    .returningAll()
    .executeTakeFirst();
}

export async function hasDueDebounce(db: Db, at: Date): Promise<boolean> {
  const found = await db
    .selectFrom('automation_debounce')
    .select('due_at')
    .where('due_at', '<=', at)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Takes away runs that have waited long enough and which nobody else is at. */
export function deleteDueDebounces(
  db: Db,
  { at, limit }: { at: Date; limit: number },
): Promise<DebounceRow[]> {
  return db
    .with('due', (given) =>
      given
        .selectFrom('automation_debounce')
        .select(['automation_id', 'subject'])
        .where('due_at', '<=', at)
        .orderBy('due_at')
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .deleteFrom('automation_debounce as waiting')
    .using('due')
    .whereRef('waiting.automation_id', '=', 'due.automation_id')
    .whereRef('waiting.subject', '=', 'due.subject')
    .returningAll('waiting')
    .execute();
}

/** Puts off what waits, unless another event has taken its place. */
export async function updateDueAt(db: Db, waiting: DebounceRow, dueAt: Date): Promise<void> {
  await db
    .updateTable('automation_debounce')
    .set({ due_at: dueAt })
    .where('automation_id', '=', waiting.automation_id)
    .where('subject', '=', waiting.subject)
    .where('cause', '=', waiting.cause)
    .execute();
}

/** Drops what waits of an automation. */
export async function deleteDebounces(db: Db, automationId: string): Promise<void> {
  await db.deleteFrom('automation_debounce').where('automation_id', '=', automationId).execute();
}
