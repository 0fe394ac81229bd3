import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type SkillRow = Selectable<DB['environment_skill']>;

export function selectSkills(db: Db, environmentId: string): Promise<SkillRow[]> {
  return db
    .selectFrom('environment_skill')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .orderBy('id')
    .execute();
}

export function selectSkillsOf(db: Db, environmentIds: readonly string[]): Promise<SkillRow[]> {
  return db
    .selectFrom('environment_skill')
    .selectAll()
    .where('environment_id', '=', sql<string>`any(${environmentIds}::uuid[])`)
    .orderBy('id')
    .execute();
}

export function insertSkill(db: Db, row: Insertable<DB['environment_skill']>): Promise<SkillRow> {
  return db.insertInto('environment_skill').values(row).returningAll().executeTakeFirstOrThrow();
}

/** False when the environment has no such skill. */
export async function deleteSkill(db: Db, key: { environmentId: string; id: string }): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('environment_skill')
    .where('environment_id', '=', key.environmentId)
    .where('id', '=', key.id)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
