import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';
import { anyOf } from './store.ts';

export type RepositorySetRow = Selectable<DB['repository_set']>;
export type SetMember = {
  repository_set_id: string;
  id: string;
  name: string;
  url: string;
  default_branch: string | null;
};
type Key = { organizationId: string; id: string };

export function selectSets(db: Db, organizationId: string): Promise<RepositorySetRow[]> {
  return db
    .selectFrom('repository_set')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}

export function selectSet(db: Db, key: Key): Promise<RepositorySetRow | undefined> {
  return byId(db, key).executeTakeFirst();
}

/** Other changes of the set wait until the transaction ends. */
export function lockSetToChange(db: Db, key: Key): Promise<RepositorySetRow | undefined> {
  return byId(db, key).forNoKeyUpdate().executeTakeFirst();
}

/** Nobody can change or bind the set before the transaction ends. */
export function lockSetToDelete(db: Db, key: Key): Promise<RepositorySetRow | undefined> {
  return byId(db, key).forUpdate().executeTakeFirst();
}

/** The set cannot go before the transaction ends. */
export function shareSet(db: Db, key: Key): Promise<RepositorySetRow | undefined> {
  return byId(db, key).forKeyShare().executeTakeFirst();
}

export async function insertSet(db: Db, row: Insertable<DB['repository_set']>): Promise<void> {
  await db.insertInto('repository_set').values(row).execute();
}

export async function updateSet(
  db: Db,
  id: string,
  changes: Updateable<DB['repository_set']>,
): Promise<void> {
  await db.updateTable('repository_set').set(changes).where('id', '=', id).execute();
}

export async function deleteSet(db: Db, id: string): Promise<void> {
  await db.deleteFrom('repository_set').where('id', '=', id).execute();
}

/** Puts these repositories, in this order, in place of what the set has. */
export async function replaceMembers(db: Db, setId: string, repositoryIds: readonly string[]): Promise<void> {
  await db.deleteFrom('repository_set_member').where('repository_set_id', '=', setId).execute();
  await sql`
    insert into repository_set_member (repository_set_id, repository_id, position)
    select ${setId}::uuid, member.id, member.position
      from unnest(${repositoryIds}::uuid[]) with ordinality as member (id, position)`.execute(db);
}

export function selectMembers(db: Db, setIds: readonly string[]): Promise<SetMember[]> {
  return db
    .selectFrom('repository_set_member as member')
    .innerJoin('repository', 'repository.id', 'member.repository_id')
    .select([
      'member.repository_set_id',
      'repository.id',
      'repository.name',
      'repository.url',
      'repository.default_branch',
    ])
    .where('member.repository_set_id', '=', anyOf(setIds))
    .orderBy('member.repository_set_id')
    .orderBy('member.position')
    .execute();
}

/** The environments that are bound to the set. */
export function selectBoundEnvironments(
  db: Db,
  setId: string,
): Promise<{ id: string; organization_id: string; is_global: boolean; name: string }[]> {
  return db
    .selectFrom('environment')
    .select(['id', 'organization_id', 'is_global', 'name'])
    .where('repository_set_id', '=', setId)
    .orderBy('id')
    .execute();
}

export async function countSets(db: Db, organizationId: string): Promise<number> {
  const { total } = await db
    .selectFrom('repository_set')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow();
  return total;
}

function byId(db: Db, key: Key) {
  return db
    .selectFrom('repository_set')
    .selectAll()
    .where('organization_id', '=', key.organizationId)
    .where('id', '=', key.id);
}
