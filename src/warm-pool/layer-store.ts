import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { WarmPoolLayer } from '../db/schema.ts';

export type LayerRow = Selectable<WarmPoolLayer>;

export async function insertLayer(db: Db, row: Insertable<WarmPoolLayer>): Promise<void> {
  await db
    .insertInto('warm_pool_layer')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

export async function markLayerReady(db: Db, id: string): Promise<void> {
  await db.updateTable('warm_pool_layer').set({ is_ready: true }).where('id', '=', id).execute();
}

/** The snapshot of a pool's present generation on this host. */
export function selectLayer(
  db: Db,
  wanted: { poolId: string; generation: number; hostId: string },
): Promise<LayerRow | undefined> {
  return db
    .selectFrom('warm_pool_layer')
    .selectAll()
    .where('warm_pool_id', '=', wanted.poolId)
    .where('generation', '=', wanted.generation)
    .where('host_id', '=', wanted.hostId)
    .where('is_ready', '=', true)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/**
 * Layers that nothing starts from any more: of no pool, of a pool that is off, of an older generation, or never finished.
 * One that is being made stays, and one that a sandbox stands on or is about to.
 */
export async function selectObsoleteLayers(db: Db, hostId: string): Promise<LayerRow[]> {
  const { rows } = await sql<LayerRow>`
    select layer.*
      from warm_pool_layer as layer
      left join warm_pool on warm_pool.id = layer.warm_pool_id
     where layer.host_id = ${hostId}
       and (warm_pool.id is null
            or not warm_pool.enabled
            or layer.generation < warm_pool.generation
            or not layer.is_ready)
       and not exists (select from warm_pool_workspace
                        where warm_pool_workspace.id = layer.built_by and status = 'snapshotting')
       and layer.id::text not in (select unnest(layers) from sandbox where host_id = ${hostId})
     limit 100`.execute(db);
  return rows;
}

export async function deleteLayer(db: Db, id: string): Promise<void> {
  await db.deleteFrom('warm_pool_layer').where('id', '=', id).execute();
}

export function selectLayerById(db: Db, id: string): Promise<LayerRow | undefined> {
  return db.selectFrom('warm_pool_layer').selectAll().where('id', '=', id).executeTakeFirst();
}
