import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type RegistryRow = Selectable<DB['skill_registry']>;

const sourceColumns = [
  'id',
  'organization_id',
  'environment_id',
  'name',
  'url',
  'url_key',
  'repository_full_name',
  'head_commit',
  'scanned_at',
] as const;
/** Where a registry lies and where its last scan found it, without what is in it. */
export type RegistrySource = Pick<RegistryRow, (typeof sourceColumns)[number]>;

export function selectRegistries(db: Db, environmentId: string): Promise<RegistryRow[]> {
  return db
    .selectFrom('skill_registry')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('id')
    .execute();
}

export function selectSourcesOf(db: Db, environmentIds: readonly string[]): Promise<RegistrySource[]> {
  return db
    .selectFrom('skill_registry')
    .select(sourceColumns)
    .where('environment_id', '=', sql<string>`any(${environmentIds}::uuid[])`)
    .orderBy('id')
    .execute();
}

export function selectRegistry(db: Db, id: string): Promise<RegistryRow | undefined> {
  return db.selectFrom('skill_registry').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Locks the row until the transaction ends, so that the results of two scans come one after the other. */
export function lockRegistry(
  db: Db,
  id: string,
): Promise<(RegistryRow & { is_in_global: boolean }) | undefined> {
  return db
    .selectFrom('skill_registry')
    .innerJoin('environment', 'environment.id', 'skill_registry.environment_id')
    .selectAll('skill_registry')
    .select('environment.is_global as is_in_global')
    .where('skill_registry.id', '=', id)
    .forUpdate('skill_registry')
    .executeTakeFirst();
}

export function insertRegistry(db: Db, row: Insertable<DB['skill_registry']>): Promise<RegistryRow> {
  return db.insertInto('skill_registry').values(row).returningAll().executeTakeFirstOrThrow();
}

export async function updateRegistry(
  db: Db,
  id: string,
  changes: Updateable<DB['skill_registry']>,
): Promise<void> {
  await db.updateTable('skill_registry').set(changes).where('id', '=', id).execute();
}

/** False when the environment has no such registry. */
export async function deleteRegistry(db: Db, key: { environmentId: string; id: string }): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('skill_registry')
    .where('environment_id', '=', key.environmentId)
    .where('id', '=', key.id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** The registries that wait longest for a scan, of all organizations. */
export function selectDue(
  db: Db,
  wanted: { before: Date; limit: number },
): Promise<Pick<RegistryRow, 'id' | 'organization_id'>[]> {
  const lastSeen = sql<Date>`coalesce(scanned_at, created_at)`;
  return db
    .selectFrom('skill_registry')
    .select(['id', 'organization_id'])
    .where(lastSeen, '<', wanted.before)
    .orderBy(lastSeen)
    .limit(wanted.limit)
    .execute();
}
