import type { Insertable, Selectable, Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { HookTest } from '../db/schema.ts';
import { OPEN_STATUSES } from './has-ended.ts';

export type HookTestRow = Selectable<HookTest>;

export function insertTest(db: Db, row: Insertable<HookTest>): Promise<HookTestRow> {
  return db.insertInto('hook_test').values(row).returningAll().executeTakeFirstOrThrow();
}

export function selectTest(db: Db, id: string): Promise<HookTestRow | undefined> {
  return db.selectFrom('hook_test').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The test, locked, unless it has ended. */
export function lockOpenTest(db: Db, id: string): Promise<HookTestRow | undefined> {
  return db
    .selectFrom('hook_test')
    .selectAll()
    .where('id', '=', id)
    .where('status', 'in', OPEN_STATUSES)
    .forUpdate()
    .executeTakeFirst();
}

export async function updateTest(db: Db, id: string, change: Updateable<HookTest>): Promise<void> {
  await db.updateTable('hook_test').set(change).where('id', '=', id).execute();
}

/** Open tests whose caller has not been heard of since. */
export function selectAbandoned(db: Db, at: Date): Promise<{ id: string }[]> {
  return db
    .selectFrom('hook_test')
    .select('id')
    .where('status', 'in', OPEN_STATUSES)
    .where('lease_until', '<', at)
    .limit(100)
    .execute();
}

export async function deleteOldTests(db: Db, before: Date): Promise<void> {
  await db
    .deleteFrom('hook_test')
    .where('status', 'not in', OPEN_STATUSES)
    .where('updated_at', '<', before)
    .execute();
}
