import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type HookKind = 'warm' | 'start';
export type HookRow = Selectable<DB['hook']>;
type Key = { environmentId: string; kind: HookKind };

export function selectActive(db: Db, key: Key): Promise<HookRow | undefined> {
  return db
    .selectFrom('hook')
    .selectAll()
    .where('environment_id', '=', key.environmentId)
    .where('kind', '=', key.kind)
    .where('is_active', '=', true)
    .executeTakeFirst();
}

export function selectActiveOf(db: Db, environmentIds: readonly string[]): Promise<HookRow[]> {
  return db
    .selectFrom('hook')
    .selectAll()
    .where('environment_id', '=', sql<string>`any(${environmentIds}::uuid[])`)
    .where('is_active', '=', true)
    .orderBy('id')
    .execute();
}

/** The newest version ever saved, 0 when there was none. */
export async function selectLastVersion(db: Db, key: Key): Promise<number> {
  const { version } = await db
    .selectFrom('hook')
    .select(sql<number>`coalesce(max(version), 0)`.as('version'))
    .where('environment_id', '=', key.environmentId)
    .where('kind', '=', key.kind)
    .executeTakeFirstOrThrow();
  return version;
}

/** Says whether a hook was active until now. */
export async function deactivate(db: Db, key: Key): Promise<void> {
  await db
    .updateTable('hook')
    .set({ is_active: false })
    .where('environment_id', '=', key.environmentId)
    .where('kind', '=', key.kind)
    .where('is_active', '=', true)
    .execute();
}

export function insertHook(db: Db, row: Insertable<DB['hook']>): Promise<HookRow> {
  return db.insertInto('hook').values(row).returningAll().executeTakeFirstOrThrow();
}
