import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type McpRow = Selectable<DB['environment_mcp']>;

export function selectMcps(db: Db, environmentId: string): Promise<McpRow[]> {
  return db
    .selectFrom('environment_mcp')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('name')
    .execute();
}

export function selectMcpsOf(db: Db, environmentIds: readonly string[]): Promise<McpRow[]> {
  return db
    .selectFrom('environment_mcp')
    .selectAll()
    .where('environment_id', '=', sql<string>`any(${environmentIds}::uuid[])`)
    .orderBy('name')
    .execute();
}

export function selectMcp(db: Db, key: { environmentId: string; id: string }): Promise<McpRow | undefined> {
  return db
    .selectFrom('environment_mcp')
    .selectAll()
    .where('environment_id', '=', key.environmentId)
    .where('id', '=', key.id)
    .executeTakeFirst();
}

export async function countMcps(db: Db, environmentId: string): Promise<number> {
  const { total } = await db
    .selectFrom('environment_mcp')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('environment_id', '=', environmentId)
    .executeTakeFirstOrThrow();
  return total;
}

export function insertMcp(db: Db, row: Insertable<DB['environment_mcp']>): Promise<McpRow> {
  return db.insertInto('environment_mcp').values(row).returningAll().executeTakeFirstOrThrow();
}

export function updateMcp(db: Db, id: string, changes: Updateable<DB['environment_mcp']>): Promise<McpRow> {
  return db
    .updateTable('environment_mcp')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteMcp(db: Db, id: string): Promise<void> {
  await db.deleteFrom('environment_mcp').where('id', '=', id).execute();
}
