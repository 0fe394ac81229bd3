import type { Db } from '../db/database.ts';

export async function selectSize(db: Db, organizationId: string): Promise<string | null> {
  const row = await db
    .selectFrom('sandbox_tier')
    .select('size')
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  return row?.size ?? null;
}

export async function upsertSize(
  db: Db,
  row: { organizationId: string; size: string; at: Date },
): Promise<void> {
  const change = { size: row.size, updated_at: row.at };
  await db
    .insertInto('sandbox_tier')
    .values({ organization_id: row.organizationId, ...change })
    .onConflict((conflict) => conflict.column('organization_id').doUpdateSet(change))
    .execute();
}

export async function deleteSize(db: Db, organizationId: string): Promise<void> {
  await db.deleteFrom('sandbox_tier').where('organization_id', '=', organizationId).execute();
}
