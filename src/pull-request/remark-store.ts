import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { PullRequestRemark } from '../db/schema.ts';

export type RemarkRow = Omit<Selectable<PullRequestRemark>, 'kind'> & {
  kind: 'check' | 'review' | 'comment';
};

/** False when the same was said before. */
export async function insertRemark(db: Db, row: Insertable<PullRequestRemark>): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('pull_request_remark')
    .values(row)
    .onConflict((conflict) => conflict.constraint('pull_request_remark_key').doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows > 0n;
}

export async function countWaiting(db: Db, pullRequestId: string): Promise<number> {
  const { total } = await waiting(db, pullRequestId)
    .select(sql<number>`count(*)::int`.as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

/** What no message carries yet, in the order in which it was said. */
export async function selectWaiting(db: Db, pullRequestId: string): Promise<RemarkRow[]> {
  const rows = await waiting(db, pullRequestId).selectAll().orderBy('at').orderBy('id').execute();
  // The check constraint of the column allows nothing else.
  return rows as RemarkRow[];
}

export async function deleteRemarks(db: Db, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.deleteFrom('pull_request_remark').where('id', 'in', ids).execute();
}

export async function carryRemarks(db: Db, ids: readonly string[], messageId: string): Promise<void> {
  if (ids.length === 0) return;
  await db.updateTable('pull_request_remark').set({ message_id: messageId }).where('id', 'in', ids).execute();
}

/** The messages that have carried remarks of a pull request since then, the latest first. */
export async function selectMessagesSince(
  db: Db,
  { pullRequestId, since }: { pullRequestId: string; since: Date },
): Promise<string[]> {
  const rows = await db
    .selectFrom('message')
    .select('message.id')
    .where('message.created_at', '>=', since)
    .where('message.id', 'in', (eb) =>
      eb
        .selectFrom('pull_request_remark')
        .select((remark) => remark.ref('pull_request_remark.message_id').$notNull().as('id'))
        .where('replica_pull_request_id', '=', pullRequestId)
        .where('message_id', 'is not', null),
    )
    .orderBy('message.created_at', 'desc')
    .orderBy('message.id', 'desc')
    .execute();
  return rows.map(({ id }) => id);
}

export async function insertOwnComment(
  db: Db,
  comment: { replicaId: string; url: string; at: Date },
): Promise<void> {
  const { replicaId: replica_id, url, at } = comment;
  await db
    .insertInto('own_comment')
    .values({ replica_id, url, at })
    .onConflict((conflict) => conflict.columns(['replica_id', 'url']).doUpdateSet({ at }))
    .execute();
}

export async function deleteOwnComment(db: Db, key: { replicaId: string; url: string }): Promise<void> {
  await db
    .deleteFrom('own_comment')
    .where('replica_id', '=', key.replicaId)
    .where('url', '=', key.url)
    .execute();
}

/** Whether replicas of the organization know a comment by its address, or since then by the name it has without one. */
export async function isOwnComment(
  db: Db,
  wanted: { organizationId: string; url: string; name: string; since: Date },
): Promise<boolean> {
  const found = await db
    .selectFrom('own_comment')
    .innerJoin('replica', 'replica.id', 'own_comment.replica_id')
    .select('own_comment.url')
    .where('own_comment.url', 'in', [wanted.url, wanted.name])
    .where('replica.organization_id', '=', wanted.organizationId)
    .where((is) => is.or([is('own_comment.url', '=', wanted.url), is('own_comment.at', '>=', wanted.since)]))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Which of these addresses are of comments that the replica has made. */
export async function selectOwnComments(
  db: Db,
  { replicaId, urls }: { replicaId: string; urls: readonly string[] },
): Promise<Set<string>> {
  if (urls.length === 0) return new Set();
  const rows = await db
    .selectFrom('own_comment')
    .select('url')
    .where('replica_id', '=', replicaId)
    .where('url', 'in', urls)
    .execute();
  return new Set(rows.map(({ url }) => url));
}

function waiting(db: Db, pullRequestId: string) {
  return db
    .selectFrom('pull_request_remark')
    .where('replica_pull_request_id', '=', pullRequestId)
    .where('message_id', 'is', null);
}
