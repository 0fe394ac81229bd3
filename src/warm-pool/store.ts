import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type WarmPoolRow = Selectable<DB['warm_pool']>;
export type WarmPoolCounts = {
  ready_count: number;
  stale_count: number;
  warming_count: number;
  snapshotting_count: number;
  has_base_snapshot: boolean;
};

export async function insertPool(db: Db, row: Insertable<DB['warm_pool']>): Promise<void> {
  await db.insertInto('warm_pool').values(row).execute();
}

/** Inserts the pool, or switches the one the environment has. */
export async function upsertPool(db: Db, row: Insertable<DB['warm_pool']>): Promise<void> {
  await db
    .insertInto('warm_pool')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .constraint('warm_pool_environment_key')
        .doUpdateSet({ enabled: row.enabled, updated_at: row.updated_at }),
    )
    .execute();
}

export function selectCounted(
  db: Db,
  environmentId: string,
): Promise<(WarmPoolRow & WarmPoolCounts) | undefined> {
  return db
    .selectFrom('warm_pool')
    .leftJoin('warm_pool_workspace as workspace', 'workspace.warm_pool_id', 'warm_pool.id')
    .selectAll('warm_pool')
    .select([
      counting(sql`workspace.status = 'ready' and workspace.generation = warm_pool.generation`).as(
        'ready_count',
      ),
      counting(sql`workspace.status = 'ready' and workspace.generation < warm_pool.generation`).as(
        'stale_count',
      ),
      counting(sql`workspace.status = 'warming'`).as('warming_count'),
      counting(sql`workspace.status = 'snapshotting'`).as('snapshotting_count'),
      sql<boolean>`exists (select from warm_pool_layer as layer
        where layer.warm_pool_id = warm_pool.id and layer.generation = warm_pool.generation and layer.is_ready)`.as(
        'has_base_snapshot',
      ),
    ])
    .where('warm_pool.environment_id', '=', environmentId)
    .groupBy('warm_pool.id')
    .executeTakeFirst();
}

export function bumpOfEnvironment(db: Db, environmentId: string, at: Date): Promise<void> {
  return bump(db, at, sql`warm_pool.environment_id = ${environmentId}`);
}

export function bumpOfOrganization(db: Db, organizationId: string, at: Date): Promise<void> {
  return bump(db, at, sql`warm_pool.organization_id = ${organizationId}`);
}

/** Workspaces get another size: those of the present generation have the old one. */
export async function resizeOfOrganization(
  db: Db,
  { organizationId, size, at }: { organizationId: string; size: string; at: Date },
): Promise<void> {
  const condition = sql`warm_pool.organization_id = ${organizationId} and warm_pool.size <> ${size}`;
  await bump(db, at, condition, sql`, size = ${size}`);
}

/** The pools of every environment that is bound to the repository, by itself or in a set. */
export function bumpOfRepository(db: Db, repositoryId: string, at: Date): Promise<void> {
  return bump(
    db,
    at,
    sql`warm_pool.environment_id in (
      select id from environment where repository_id = ${repositoryId}
      union
      select environment.id from environment
        join repository_set_member using (repository_set_id)
        where repository_set_member.repository_id = ${repositoryId}
    )`,
  );
}

/** Takes the locks in the order of ids, so that two changes of overlapping pools wait instead of deadlocking. */
async function bump(db: Db, at: Date, condition: ReturnType<typeof sql>, besides = sql``): Promise<void> {
  await sql`
    with held as materialized (select id from warm_pool where ${condition} order by id for update)
    update warm_pool set generation = generation + 1, updated_at = ${at}${besides}
      from held where warm_pool.id = held.id`.execute(db);
}

function counting(condition: ReturnType<typeof sql>) {
  return sql<number>`(count(*) filter (where ${condition}))::int`;
}
