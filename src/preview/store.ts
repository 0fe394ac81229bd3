import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { Preview } from '../db/schema.ts';

export type PreviewRow = Selectable<Preview>;
type Key = { replicaId: string; port: number };

export function selectPreviews(db: Db, replicaId: string): Promise<PreviewRow[]> {
  return db.selectFrom('preview').selectAll().where('replica_id', '=', replicaId).orderBy('port').execute();
}

export function selectPreview(db: Db, { replicaId, port }: Key): Promise<PreviewRow | undefined> {
  return db
    .selectFrom('preview')
    .selectAll()
    .where('replica_id', '=', replicaId)
    .where('port', '=', port)
    .executeTakeFirst();
}

export function insertPreview(db: Db, row: Insertable<Preview>): Promise<PreviewRow> {
  return db.insertInto('preview').values(row).returningAll().executeTakeFirstOrThrow();
}

export function updatePublic(db: Db, { replicaId, port }: Key, isPublic: boolean): Promise<PreviewRow> {
  return db
    .updateTable('preview')
    .set({ is_public: isPublic })
    .where('replica_id', '=', replicaId)
    .where('port', '=', port)
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deletePreview(db: Db, { replicaId, port }: Key): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('preview')
    .where('replica_id', '=', replicaId)
    .where('port', '=', port)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
