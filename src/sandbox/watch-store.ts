import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

/** A host says that it is there. The database's clock counts, since those of hosts differ. */
export async function touchHost(db: Db, id: string): Promise<void> {
  await db
    .insertInto('runtime_host')
    .values({ id, seen_at: sql`now()` })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ seen_at: sql`now()` }))
    .execute();
}

export async function isKnownHost(db: Db, id: string): Promise<boolean> {
  const row = await db.selectFrom('runtime_host').select('id').where('id', '=', id).executeTakeFirst();
  return row !== undefined;
}

/** Whether a host was not heard of for so long, or never. */
export async function isHostSilent(
  db: Db,
  { id, silentSeconds }: { id: string; silentSeconds: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('runtime_host')
    .select('id')
    .where('id', '=', id)
    .where('seen_at', '>', sql<Date>`now() - make_interval(secs => ${silentSeconds})`)
    .executeTakeFirst();
  return row === undefined;
}

/** Sandboxes that were let go long ago and are still there. */
export function selectLingering(db: Db, wanted: { hostId: string; before: Date }): Promise<{ id: string }[]> {
  return db
    .selectFrom('sandbox')
    .select('id')
    .where('host_id', '=', wanted.hostId)
    .where('removing_at', '<', wanted.before)
    .execute();
}

/** Sandboxes that no replica, warm workspace or test calls its own any more. */
export function selectUnowned(db: Db, wanted: { hostId: string; before: Date }): Promise<{ id: string }[]> {
  return db
    .selectFrom('sandbox')
    .select('sandbox.id')
    .where('host_id', '=', wanted.hostId)
    .where('removing_at', 'is', null)
    .where('created_at', '<', wanted.before)
    .where(
      sql<boolean>`case purpose
        when 'replica' then not exists (select from replica where replica.sandbox_id = sandbox.id)
        when 'warm_pool' then not exists (select from warm_pool_workspace
          where warm_pool_workspace.id = sandbox.warm_workspace_id
            and warm_pool_workspace.status in ('warming', 'snapshotting', 'ready'))
        else not exists (select from hook_test
          where hook_test.sandbox_id = sandbox.id and hook_test.status in ('waiting', 'preparing', 'running'))
        end`,
    )
    .execute();
}

export async function selectLayerIds(db: Db, hostId: string): Promise<string[]> {
  const rows = await db.selectFrom('warm_pool_layer').select('id').where('host_id', '=', hostId).execute();
  return rows.map((row) => row.id);
}
