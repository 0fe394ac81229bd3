import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type VariableRow = Selectable<DB['environment_variable']>;

export function selectVariables(db: Db, environmentId: string): Promise<VariableRow[]> {
  return db
    .selectFrom('environment_variable')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('key')
    .execute();
}

export function selectVariablesOf(db: Db, environmentIds: readonly string[]): Promise<VariableRow[]> {
  return db
    .selectFrom('environment_variable')
    .selectAll()
    .where('environment_id', '=', sql<string>`any(${environmentIds}::uuid[])`)
    .orderBy('key')
    .execute();
}

export function selectVariable(
  db: Db,
  key: { environmentId: string; id: string },
): Promise<VariableRow | undefined> {
  return db
    .selectFrom('environment_variable')
    .selectAll()
    .where('environment_id', '=', key.environmentId)
    .where('id', '=', key.id)
    .executeTakeFirst();
}

export function insertVariable(db: Db, row: Insertable<DB['environment_variable']>): Promise<VariableRow> {
  return db.insertInto('environment_variable').values(row).returningAll().executeTakeFirstOrThrow();
}

export function updateVariable(
  db: Db,
  id: string,
  changes: Updateable<DB['environment_variable']>,
): Promise<VariableRow> {
  return db
    .updateTable('environment_variable')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteVariable(db: Db, id: string): Promise<void> {
  await db.deleteFrom('environment_variable').where('id', '=', id).execute();
}
