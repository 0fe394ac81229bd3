import { type Insertable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { ReplicaBranch } from '../db/schema.ts';

type Key = { replicaId: string; repositoryId: string; branch: string };

export async function upsertBranch(db: Db, row: Insertable<ReplicaBranch>): Promise<void> {
  const { head_commit, pushed_at } = row;
  await db
    .insertInto('replica_branch')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['replica_id', 'repository_id', 'branch']).doUpdateSet({ head_commit, pushed_at }),
    )
    .execute();
}

export async function deleteBranch(db: Db, key: Key): Promise<void> {
  await db
    .deleteFrom('replica_branch')
    .where('replica_id', '=', key.replicaId)
    .where('repository_id', '=', key.repositoryId)
    .where('branch', '=', key.branch)
    .execute();
}

/** Forgets the branches that were pushed longest ago. */
export async function keepNewest(
  db: Db,
  { replicaId, most }: { replicaId: string; most: number },
): Promise<void> {
  await sql`
    delete from replica_branch
     where ctid = any (array(
       select ctid from replica_branch where replica_id = ${replicaId} order by pushed_at desc, branch offset ${most}))
  `.execute(db);
}

/** Branches from which no open pull request is known to come, those that were pushed last first. */
export function selectUnmatched(
  db: Db,
  { replicaId, limit }: { replicaId: string; limit: number },
): Promise<{ repository_id: string; branch: string }[]> {
  return unmatched(db)
    .select(['repository_id', 'branch'])
    .where('replica_id', '=', replicaId)
    .orderBy('pushed_at', 'desc')
    .orderBy('branch')
    .limit(limit)
    .execute();
}

/** Which of these replicas have such branches. */
export async function selectUnmatchedReplicas(db: Db, replicaIds: readonly string[]): Promise<string[]> {
  const rows = await unmatched(db)
    .select('replica_id')
    .distinct()
    .where('replica_id', 'in', replicaIds)
    .execute();
  return rows.map(({ replica_id }) => replica_id);
}

export async function hasBranch(db: Db, key: Key): Promise<boolean> {
  const row = await db
    .selectFrom('replica_branch')
    .select('branch')
    .where('replica_id', '=', key.replicaId)
    .where('repository_id', '=', key.repositoryId)
    .where('branch', '=', key.branch)
    .executeTakeFirst();
  return row !== undefined;
}

function unmatched(db: Db) {
  return db
    .selectFrom('replica_branch')
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('replica_pull_request')
            .select('id')
            .whereRef('replica_pull_request.replica_id', '=', 'replica_branch.replica_id')
            .whereRef('replica_pull_request.repository_id', '=', 'replica_branch.repository_id')
            .whereRef('replica_pull_request.branch', '=', 'replica_branch.branch')
            .where('replica_pull_request.state', '=', 'open'),
        ),
      ),
    );
}
