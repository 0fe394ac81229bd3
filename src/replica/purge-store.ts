import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

/** The tables whose rows go with a replica; first those whose rows a later one would take along all at once. */
export const belongings = [
  'history_entry',
  'message',
  'chat',
  'canvas_item',
  'replica_shadow',
  'hook_run',
  'replica_step',
  'egress_contact',
  'preview',
  'agent_command',
  'replica_branch',
  'own_comment',
  'replica_event',
] as const satisfies (keyof DB)[];

type Wanted = { replicaId: string; limit: number };

export async function isDeleted(db: Db, replicaId: string): Promise<boolean> {
  const row = await db.selectFrom('replica').select('state').where('id', '=', replicaId).executeTakeFirst();
  return row?.state === 'deleted';
}

/** Deletes some rows of a replica; answers how many. */
export async function deleteSome(
  db: Db,
  { table, replicaId, limit }: Wanted & { table: (typeof belongings)[number] },
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from ${sql.table(table)}
     where ctid = any (array(select ctid from ${sql.table(table)} where replica_id = ${replicaId} limit ${limit}))
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Deletes some output of a replica's hooks; answers how many pieces. */
export async function deleteHookOutput(db: Db, { replicaId, limit }: Wanted): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from hook_output
     where ctid = any (array(
       select hook_output.ctid from hook_output
         join hook_run on hook_run.id = hook_output.hook_run_id
        where hook_run.replica_id = ${replicaId}
        limit ${limit}))
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Empties what the rows that stay hold of the replica's content. Its receiver stays as long as events for it are kept. */
export async function clearRecord(db: Db, replicaId: string): Promise<void> {
  await db
    .updateTable('replica')
    .set({
      config: '{}',
      environment_report: null,
      engine: null,
      history_bytes: '0',
    })
    .where('id', '=', replicaId)
    .execute();
  await db
    .deleteFrom('pull_request_remark')
    .where('replica_pull_request_id', 'in', (eb) =>
      eb.selectFrom('replica_pull_request').select('id').where('replica_id', '=', replicaId),
    )
    .execute();
  await db
    .updateTable('replica_repository')
    .set({ diff: null })
    .where('replica_id', '=', replicaId)
    .execute();
}
