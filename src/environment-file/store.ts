import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type FileRow = Selectable<DB['environment_file']>;

export function selectFiles(db: Db, environmentId: string): Promise<FileRow[]> {
  return db
    .selectFrom('environment_file')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('path')
    .execute();
}

export function selectFilesOf(db: Db, environmentIds: readonly string[]): Promise<FileRow[]> {
  return db
    .selectFrom('environment_file')
    .selectAll()
    .where('environment_id', '=', sql<string>`any(${environmentIds}::uuid[])`)
    .orderBy('path')
    .execute();
}

/** Where each file of an environment goes and how much it holds, without what it holds. */
export function selectPlaces(
  db: Db,
  environmentId: string,
): Promise<(Pick<FileRow, 'id' | 'path'> & { bytes: number })[]> {
  return db
    .selectFrom('environment_file')
    .select(['id', 'path', sql<number>`octet_length(content)`.as('bytes')])
    .where('environment_id', '=', environmentId)
    .execute();
}

export function selectFile(db: Db, key: { environmentId: string; id: string }): Promise<FileRow | undefined> {
  return db
    .selectFrom('environment_file')
    .selectAll()
    .where('environment_id', '=', key.environmentId)
    .where('id', '=', key.id)
    .executeTakeFirst();
}

export function insertFile(db: Db, row: Insertable<DB['environment_file']>): Promise<FileRow> {
  return db.insertInto('environment_file').values(row).returningAll().executeTakeFirstOrThrow();
}

export function updateFile(
  db: Db,
  id: string,
  changes: Updateable<DB['environment_file']>,
): Promise<FileRow> {
  return db
    .updateTable('environment_file')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteFile(db: Db, id: string): Promise<void> {
  await db.deleteFrom('environment_file').where('id', '=', id).execute();
}
