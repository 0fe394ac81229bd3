import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { ReplicaShadow } from '../db/schema.ts';

export async function upsertShadow(db: Db, row: Insertable<ReplicaShadow>): Promise<void> {
  const { replica_id: _replica, repository_id: _repository, ...rest } = row;
  await db
    .insertInto('replica_shadow')
    .values(row)
    .onConflict((conflict) => conflict.columns(['replica_id', 'repository_id']).doUpdateSet(rest))
    .execute();
}

export function selectShadow(
  db: Db,
  key: { replicaId: string; repositoryId: string },
): Promise<Selectable<ReplicaShadow> | undefined> {
  return db
    .selectFrom('replica_shadow')
    .selectAll()
    .where('replica_id', '=', key.replicaId)
    .where('repository_id', '=', key.repositoryId)
    .executeTakeFirst();
}
