import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

export type CanvasItem = { filename: string; size_bytes: number };

export async function upsertItem(
  db: Db,
  item: {
    replica_id: string;
    filename: string;
    size_bytes: number;
    content: Buffer | null;
    updated_at: Date;
  },
): Promise<void> {
  const { replica_id, filename, ...rest } = item;
  const row = { ...rest, size_bytes: String(item.size_bytes) };
  await db
    .insertInto('canvas_item')
    .values({ replica_id, filename, ...row })
    .onConflict((conflict) => conflict.columns(['replica_id', 'filename']).doUpdateSet(row))
    .execute();
}

export async function deleteItem(db: Db, key: { replicaId: string; filename: string }): Promise<void> {
  await db
    .deleteFrom('canvas_item')
    .where('replica_id', '=', key.replicaId)
    .where('filename', '=', key.filename)
    .execute();
}

/** What the items of a replica besides this one take. */
export function measureOthers(
  db: Db,
  key: { replicaId: string; filename: string },
): Promise<{ count: number; bytes: number }> {
  return db
    .selectFrom('canvas_item')
    .select([
      sql<number>`count(*)::int`.as('count'),
      sql<number>`coalesce(sum(octet_length(content)), 0)::float8`.as('bytes'),
    ])
    .where('replica_id', '=', key.replicaId)
    .where('filename', '!=', key.filename)
    .executeTakeFirstOrThrow();
}

export async function selectItems(db: Db, replicaId: string): Promise<CanvasItem[]> {
  const rows = await db
    .selectFrom('canvas_item')
    .select(['filename', 'size_bytes'])
    .where('replica_id', '=', replicaId)
    .orderBy('filename')
    .execute();
  return rows.map((row) => ({ filename: row.filename, size_bytes: Number(row.size_bytes) }));
}

export async function selectItem(
  db: Db,
  key: { replicaId: string; filename: string },
): Promise<(CanvasItem & { content: Buffer | null }) | undefined> {
  const row = await db
    .selectFrom('canvas_item')
    .select(['filename', 'size_bytes', 'content'])
    .where('replica_id', '=', key.replicaId)
    .where('filename', '=', key.filename)
    .executeTakeFirst();
  return row && { ...row, size_bytes: Number(row.size_bytes) };
}
