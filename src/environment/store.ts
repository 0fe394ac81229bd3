import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import type { DB } from '../db/schema.ts';

export type EnvironmentRow = Selectable<DB['environment']>;
export type EnvironmentCounts = {
  variable_count: number;
  file_count: number;
  skill_count: number;
  mcp_count: number;
};

export function selectEnvironment(
  db: Db,
  key: { organizationId: string; id: string },
): Promise<EnvironmentRow | undefined> {
  return byId(db, key).executeTakeFirst();
}

/** Locks the row until the transaction ends, so that changes of one environment come one after the other. */
export function lockEnvironment(
  db: Db,
  key: { organizationId: string; id: string },
): Promise<EnvironmentRow | undefined> {
  return byId(db, key).forUpdate().executeTakeFirst();
}

/** The oldest environment bound to the set, or else to one of the repositories. */
export function selectFirstBound(
  db: Db,
  bound: { organizationId: string; setId: string | null; repositoryIds: readonly string[] },
): Promise<EnvironmentRow | undefined> {
  return db
    .selectFrom('environment')
    .selectAll()
    .where('organization_id', '=', bound.organizationId)
    .where((eb) =>
      eb.or([
        eb('repository_set_id', '=', bound.setId),
        eb('repository_id', '=', eb.fn.any(eb.val(bound.repositoryIds))),
      ]),
    )
    .orderBy(sql`repository_set_id is null`)
    .orderBy('id')
    .executeTakeFirst();
}

export function selectGlobal(db: Db, organizationId: string): Promise<EnvironmentRow | undefined> {
  return db
    .selectFrom('environment')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('is_global', '=', true)
    .executeTakeFirst();
}

/** The Global environment and the one of that id, in this order; what is absent or another organization's is left out. */
export function selectLayers(
  db: Db,
  key: { organizationId: string; environmentId: string | null },
): Promise<EnvironmentRow[]> {
  return db
    .selectFrom('environment')
    .selectAll()
    .where('organization_id', '=', key.organizationId)
    .where((is) => is.or([is('is_global', '=', true), is('id', '=', key.environmentId)]))
    .orderBy('is_global', 'desc')
    .execute();
}

/**
 * Does nothing when another request has made it in the meantime. Every unique index counts: with only the one of the
 * Global environment named, a request that runs at the same moment meets the index of names first and fails.
 */
export async function insertGlobal(db: Db, row: Insertable<DB['environment']>): Promise<void> {
  await db
    .insertInto('environment')
    .values({ ...row, is_global: true })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** All environments of an organization, the Global one first. */
export const selectCounted = prepared(['organizationId'], (db, { organizationId }) =>
  counted(db).where('organization_id', '=', organizationId).orderBy('is_global', 'desc').orderBy('id'),
);

/** The one environment of that id, or none. */
export const selectOneCounted = prepared(['organizationId', 'id'], (db, { organizationId, id }) =>
  counted(db).where('organization_id', '=', organizationId).where('id', '=', id),
);

export async function insertEnvironment(db: Db, row: Insertable<DB['environment']>): Promise<void> {
  await db.insertInto('environment').values(row).execute();
}

export async function updateEnvironment(
  db: Db,
  id: string,
  changes: Updateable<DB['environment']>,
): Promise<void> {
  await db.updateTable('environment').set(changes).where('id', '=', id).execute();
}

export async function deleteEnvironment(db: Db, id: string): Promise<void> {
  await db.deleteFrom('environment').where('id', '=', id).execute();
}

export async function isUsedByAutomation(db: Db, id: string): Promise<boolean> {
  const automation = await db
    .selectFrom('automation')
    .select('id')
    .where('environment_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return automation !== undefined;
}

export async function countEnvironments(db: Db, organizationId: string): Promise<number> {
  const { total } = await db
    .selectFrom('environment')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow();
  return total;
}

function byId(db: Db, key: { organizationId: string; id: string }) {
  return db
    .selectFrom('environment')
    .selectAll()
    .where('organization_id', '=', key.organizationId)
    .where('id', '=', key.id);
}

function counted(db: Db) {
  const count = (
    table: 'environment_variable' | 'environment_file' | 'environment_skill' | 'environment_mcp',
  ) =>
    sql<number>`(select count(*)::int from ${sql.table(table)} attached where attached.environment_id = environment.id)`;
  return db
    .selectFrom('environment')
    .selectAll()
    .select([
      count('environment_variable').as('variable_count'),
      count('environment_file').as('file_count'),
      count('environment_skill').as('skill_count'),
      count('environment_mcp').as('mcp_count'),
    ]);
}
