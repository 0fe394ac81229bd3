import type { Insertable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { ReplicaPullRequest } from '../db/schema.ts';

/** False when it was known already. */
export async function insertPullRequest(db: Db, row: Insertable<ReplicaPullRequest>): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('replica_pull_request')
    .values(row)
    .onConflict((conflict) => conflict.constraint('replica_pull_request_number_key').doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows > 0n;
}

/** The addresses of those that were opened in one turn. */
export async function selectOpenedIn(db: Db, messageId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('replica_pull_request')
    .select('url')
    .where('message_id', '=', messageId)
    .orderBy('created_at')
    .orderBy('number')
    .execute();
  return rows.map(({ url }) => url);
}
