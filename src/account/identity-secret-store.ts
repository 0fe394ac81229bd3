import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

/** Keeps the setting that was there first. */
export async function insertSetting(db: Db, row: Insertable<DB['service_setting']>): Promise<void> {
  await db
    .insertInto('service_setting')
    .values(row)
    .onConflict((conflict) => conflict.constraint('service_setting_name_key').doNothing())
    .execute();
}

export function selectSetting(
  db: Db,
  name: string,
): Promise<Pick<Selectable<DB['service_setting']>, 'id' | 'value'>> {
  return db
    .selectFrom('service_setting')
    .select(['id', 'value'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
}
