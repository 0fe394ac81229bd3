import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { ReplicaPullRequest } from '../db/schema.ts';
import type { ReplicaState } from '../replica/lifecycle.ts';
import type { PullState } from './pull-state.ts';

export type PullRequestRow = Omit<Selectable<ReplicaPullRequest>, 'state'> & { state: PullState };
type Key = { replicaId: string; repositoryId: string; number: number };

export async function insertPullRequest(
  db: Db,
  row: Insertable<ReplicaPullRequest>,
): Promise<PullRequestRow> {
  return typed(
    await db.insertInto('replica_pull_request').values(row).returningAll().executeTakeFirstOrThrow(),
  );
}

export async function selectPullRequest(
  db: Db,
  { replicaId, repositoryId, number }: Key,
): Promise<PullRequestRow | undefined> {
  const row = await db
    .selectFrom('replica_pull_request')
    .selectAll()
    .where('replica_id', '=', replicaId)
    .where('repository_id', '=', repositoryId)
    .where('number', '=', number)
    .executeTakeFirst();
  return row && typed(row);
}

export async function selectPullRequestById(db: Db, id: string): Promise<PullRequestRow | undefined> {
  const row = await db.selectFrom('replica_pull_request').selectAll().where('id', '=', id).executeTakeFirst();
  return row && typed(row);
}

/** Those of a replica, in the order in which they were found. */
export async function selectPullRequestsOf(db: Db, replicaId: string): Promise<PullRequestRow[]> {
  const rows = await db
    .selectFrom('replica_pull_request')
    .selectAll()
    .where('replica_id', '=', replicaId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(typed);
}

export async function updatePullRequest(
  db: Db,
  id: string,
  change: Updateable<ReplicaPullRequest>,
): Promise<void> {
  await db.updateTable('replica_pull_request').set(change).where('id', '=', id).execute();
}

/** A pull request follows its branch. */
export async function moveHeads(
  db: Db,
  moved: { replicaId: string; repositoryId: string; branch: string; commit: string },
): Promise<void> {
  await db
    .updateTable('replica_pull_request')
    .set({ head_commit: moved.commit })
    .where('replica_id', '=', moved.replicaId)
    .where('repository_id', '=', moved.repositoryId)
    .where('branch', '=', moved.branch)
    .where('state', '=', 'open')
    .execute();
}

/**
 * Replicas that an event of a repository concerns: by the pull requests it names, by a checked commit, by a branch. Of
 * more than so many the latest, since one branch may be pushed every night by another one. In the order of their ids.
 */
export async function selectConcerned(
  db: Db,
  event: {
    repositoryId: string;
    numbers: readonly number[];
    commit: string | null;
    branch: string | null;
    states: readonly ReplicaState[];
    limit: number;
  },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from replica
     where state = any (${event.states}::text[]) and id in (
       select replica_id from replica_pull_request
        where repository_id = ${event.repositoryId}
          and (number = any (${event.numbers}::int[]) or (state = 'open' and head_commit = ${event.commit}))
        union
       select replica_id from replica_branch
        where repository_id = ${event.repositoryId} and branch = ${event.branch})
     order by id desc limit ${event.limit}
  `.execute(db);
  return rows.map(({ id }) => id).toReversed();
}

/** Notes which turn's end tells the pull requests that none has told yet, and gives their addresses. */
export async function takeUntold(
  db: Db,
  { replicaId, messageId }: { replicaId: string; messageId: string },
): Promise<string[]> {
  const rows = await db
    .updateTable('replica_pull_request')
    .set({ message_id: messageId })
    .where('replica_id', '=', replicaId)
    .where('message_id', 'is', null)
    .returning(['url', 'created_at', 'number'])
    .execute();
  return rows
    .toSorted((a, b) => a.created_at.getTime() - b.created_at.getTime() || a.number - b.number)
    .map(({ url }) => url);
}

function typed(row: Selectable<ReplicaPullRequest>): PullRequestRow {
  // The check constraint of the column allows nothing else.
  return row as PullRequestRow;
}
