import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { WarmPool, WarmPoolWorkspace } from '../db/schema.ts';

export type WorkspaceRow = Selectable<WarmPoolWorkspace>;
export type PoolRow = Selectable<WarmPool>;

const OPEN: readonly string[] = ['warming', 'snapshotting', 'ready'];
/** A host says that it is there every second. */
const HOST_SILENCE_SECONDS = 60;

/** Whether a workspace is on its way or ready, and nobody's yet. */
export const isOpen = ({ status }: Pick<WorkspaceRow, 'status'>) => OPEN.includes(status);

/** Whether a workspace is on this host, or on another one that is there. The database's clock counts. */
const isWithinReach = (hostId: string) => sql<boolean>`(
  warm_pool_workspace.host_id is not distinct from ${hostId} or exists (
    select from runtime_host
     where runtime_host.id = warm_pool_workspace.host_id
       and runtime_host.seen_at > now() - make_interval(secs => ${HOST_SILENCE_SECONDS})))`;

/** Pools of which something may have to be begun or let go, or whose workspaces have a size that is not the tier. */
export async function selectUnsettledPools(
  db: Db,
  wanted: { targetSize: number; defaultSize: string; hostId: string },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select warm_pool.id
      from warm_pool
      left join lateral (
        select count(*) filter (where is_near and status = 'ready' and generation = warm_pool.generation) as fresh,
               count(*) filter (where is_near) as present,
               count(*) filter (where not is_near) as lost
          from (select status, generation, ${isWithinReach(wanted.hostId)} as is_near
                  from warm_pool_workspace
                 where warm_pool_id = warm_pool.id and status in (${sql.join(OPEN)})) as open
      ) as counted on true
     where (enabled and ${wanted.targetSize} > 0
            and (counted.fresh <> ${wanted.targetSize} or counted.present <> ${wanted.targetSize}))
        or ((not enabled or ${wanted.targetSize} = 0) and counted.present > 0)
        or counted.lost > 0
        or (enabled and ${wanted.targetSize} > 0
            and warm_pool.size <> coalesce(
              (select size from sandbox_tier where organization_id = warm_pool.organization_id), ${wanted.defaultSize}))
     order by warm_pool.updated_at desc
     limit 200`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Holds a pool. Its environment comes first: whoever changes one holds it while they reach for the pool, and what is
 * made for the pool refers to it.
 */
export async function lockPool(db: Db, id: string): Promise<PoolRow | undefined> {
  await db
    .selectFrom('environment')
    .innerJoin('warm_pool', 'warm_pool.environment_id', 'environment.id')
    .select('environment.id')
    .where('warm_pool.id', '=', id)
    .forKeyShare('environment')
    .execute();
  return db.selectFrom('warm_pool').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export function selectPool(
  db: Db,
  key: { organizationId: string; id: string },
): Promise<PoolRow | undefined> {
  return db
    .selectFrom('warm_pool')
    .selectAll()
    .where('id', '=', key.id)
    .where('organization_id', '=', key.organizationId)
    .executeTakeFirst();
}

export function selectPoolOfEnvironment(db: Db, environmentId: string): Promise<PoolRow | undefined> {
  return db
    .selectFrom('warm_pool')
    .selectAll()
    .where('environment_id', '=', environmentId)
    .executeTakeFirst();
}

export async function updatePool(db: Db, id: string, change: Updateable<WarmPool>): Promise<void> {
  await db.updateTable('warm_pool').set(change).where('id', '=', id).execute();
}

export function insertWorkspace(db: Db, row: Insertable<WarmPoolWorkspace>): Promise<WorkspaceRow> {
  return db.insertInto('warm_pool_workspace').values(row).returningAll().executeTakeFirstOrThrow();
}

/** Workspaces of a pool on which something is done or which are ready, the oldest first. */
export function selectOpenWorkspaces(
  db: Db,
  wanted: { poolId: string; hostId: string },
): Promise<WorkspaceRow[]> {
  return openWorkspaces(db, wanted.poolId).where(isWithinReach(wanted.hostId)).execute();
}

/** Those on hosts that are gone: nobody gets at them any more. */
export function selectLostWorkspaces(
  db: Db,
  wanted: { poolId: string; hostId: string },
): Promise<WorkspaceRow[]> {
  return openWorkspaces(db, wanted.poolId)
    .where(sql<boolean>`not ${isWithinReach(wanted.hostId)}`)
    .execute();
}

function openWorkspaces(db: Db, poolId: string) {
  return db
    .selectFrom('warm_pool_workspace')
    .selectAll()
    .where('warm_pool_id', '=', poolId)
    .where('status', 'in', OPEN)
    .orderBy('created_at')
    .orderBy('id');
}

/**
 * Deletes workspaces that have ended, with their hook runs, beyond the latest of the pool. One whose hooks are part of a
 * snapshot or of a replica that is there stays.
 */
export async function trimWorkspaces(db: Db, pool: PoolRow, kept: number): Promise<void> {
  await sql`
    delete from warm_pool_workspace
     where id in (select id from warm_pool_workspace
                   where warm_pool_id = ${pool.id} and status not in (${sql.join(OPEN)})
                   order by created_at desc, id desc
                  offset ${kept})
       and not exists (select from warm_pool_layer where built_by = warm_pool_workspace.id)
       and not exists (select from replica
                        where environment_id = ${pool.environment_id} and state <> 'deleted'
                          and replica.warm_workspace_id = warm_pool_workspace.id)`.execute(db);
}

export function selectRecentWorkspaces(db: Db, poolId: string, limit: number): Promise<WorkspaceRow[]> {
  return db
    .selectFrom('warm_pool_workspace')
    .selectAll()
    .where('warm_pool_id', '=', poolId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

export function selectWorkspace(db: Db, id: string): Promise<WorkspaceRow | undefined> {
  return db.selectFrom('warm_pool_workspace').selectAll().where('id', '=', id).executeTakeFirst();
}

export function lockWorkspace(db: Db, id: string): Promise<WorkspaceRow | undefined> {
  return db.selectFrom('warm_pool_workspace').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
}

export async function updateWorkspace(
  db: Db,
  id: string,
  change: Updateable<WarmPoolWorkspace>,
): Promise<void> {
  await db.updateTable('warm_pool_workspace').set(change).where('id', '=', id).execute();
}

/**
 * Notes that a workspace on its way moves on. Whoever holds the workspace changes it anyway, so nobody is waited for: an
 * engine's taker holds the sandbox, which comes after the workspace.
 */
export async function noteProgress(db: Db, id: string, at: Date): Promise<void> {
  await db
    .updateTable('warm_pool_workspace')
    .set({ progress_at: at })
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('warm_pool_workspace')
        .select('id')
        .where('id', '=', id)
        .where('status', 'in', ['warming', 'snapshotting'])
        .forUpdate()
        .skipLocked(),
    )
    .execute();
}

/**
 * A ready workspace of the pool and the size, of the present generation if there is one; nobody else can take it
 * meanwhile. Older ones may have another size than the pool has by now.
 */
export function lockReadyWorkspace(
  db: Db,
  wanted: { poolId: string; generation: number; size: string; hostId: string },
): Promise<WorkspaceRow | undefined> {
  return db
    .selectFrom('warm_pool_workspace')
    .selectAll()
    .where('warm_pool_id', '=', wanted.poolId)
    .where('status', '=', 'ready')
    .where('host_id', '=', wanted.hostId)
    .where('sandbox_id', 'is not', null)
    .where(
      sql<boolean>`not exists (select from sandbox
        where sandbox.warm_workspace_id = warm_pool_workspace.id
          and sandbox.id::text = warm_pool_workspace.sandbox_id
          and sandbox.size <> ${wanted.size})`,
    )
    .orderBy(sql`generation = ${wanted.generation}`, 'desc')
    .orderBy('generation', 'desc')
    .orderBy('created_at')
    .forUpdate()
    .skipLocked()
    .limit(1)
    .executeTakeFirst();
}

/** Workspaces on their way that have not moved on since `before`. */
export function selectStalledWorkspaces(
  db: Db,
  wanted: { hostId: string; before: Date },
): Promise<WorkspaceRow[]> {
  return db
    .selectFrom('warm_pool_workspace')
    .selectAll()
    .where('host_id', '=', wanted.hostId)
    .where('status', 'in', ['warming', 'snapshotting'])
    .where('progress_at', '<', wanted.before)
    .limit(50)
    .execute();
}

export async function selectLastClaim(db: Db, poolId: string): Promise<Date | null> {
  const row = await db
    .selectFrom('warm_pool_workspace')
    .select((eb) => eb.fn.max('updated_at').as('at'))
    .where('warm_pool_id', '=', poolId)
    .where('status', '=', 'assigned')
    .executeTakeFirst();
  return row?.at ?? null;
}
