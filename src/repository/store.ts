import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

/** A repository without what was read from its tree, which can be large. */
export type RepositoryRow = Omit<Selectable<DB['repository']>, 'configuration' | 'skills'>;
type Key = { organizationId: string; id: string };

export const rowColumns = [
  'repository.id',
  'repository.organization_id',
  'repository.credential_id',
  'repository.name',
  'repository.url',
  'repository.url_key',
  'repository.requested_branch',
  'repository.default_branch',
  'repository.status',
  'repository.error',
  'repository.head_commit',
  'repository.checks_requested',
  'repository.checks_settled',
  'repository.checked_at',
  'repository.created_at',
  'repository.updated_at',
] as const;

export function selectRepositories(db: Db, organizationId: string): Promise<RepositoryRow[]> {
  return rows(db).where('organization_id', '=', organizationId).orderBy('id').execute();
}

export function selectRepository(db: Db, key: Key): Promise<RepositoryRow | undefined> {
  return byId(db, key).executeTakeFirst();
}

export function selectRepositoryByUrl(
  db: Db,
  key: { organizationId: string; urlKey: string },
): Promise<RepositoryRow | undefined> {
  return rows(db)
    .where('organization_id', '=', key.organizationId)
    .where('url_key', '=', key.urlKey)
    .executeTakeFirst();
}

/** The repository, when the environment is bound to it, by itself or in a set. */
export function selectBound(
  db: Db,
  key: { organizationId: string; environmentId: string; repositoryId: string },
): Promise<RepositoryRow | undefined> {
  return byId(db, { organizationId: key.organizationId, id: key.repositoryId })
    .where((is) =>
      is.exists(
        is
          .selectFrom('environment')
          .leftJoin('repository_set_member as member', (join) =>
            join
              .onRef('member.repository_set_id', '=', 'environment.repository_set_id')
              .onRef('member.repository_id', '=', 'repository.id'),
          )
          .select('environment.id')
          .where('environment.organization_id', '=', key.organizationId)
          .where('environment.id', '=', key.environmentId)
          .where((either) =>
            either.or([
              either('environment.repository_id', '=', either.ref('repository.id')),
              either('member.repository_id', 'is not', null),
            ]),
          ),
      ),
    )
    .executeTakeFirst();
}

/** Nobody can change, bind or delete the repository before the transaction ends. */
export function lockRepository(db: Db, key: Key): Promise<RepositoryRow | undefined> {
  return byId(db, key).forUpdate().executeTakeFirst();
}

/** None of these can go before the transaction ends. What is absent or another organization's is left out. */
export function shareRepositories(
  db: Db,
  wanted: { organizationId: string; ids: readonly string[] },
): Promise<RepositoryRow[]> {
  return rows(db)
    .where('organization_id', '=', wanted.organizationId)
    .where('id', '=', anyOf(wanted.ids))
    .orderBy('id')
    .forKeyShare()
    .execute();
}

export function insertRepository(db: Db, row: Insertable<DB['repository']>): Promise<RepositoryRow> {
  return db.insertInto('repository').values(row).returning(rowColumns).executeTakeFirstOrThrow();
}

export function updateRepository(
  db: Db,
  id: string,
  changes: Updateable<DB['repository']>,
): Promise<RepositoryRow> {
  return db
    .updateTable('repository')
    .set(changes)
    .where('id', '=', id)
    .returning(rowColumns)
    .executeTakeFirstOrThrow();
}

export async function deleteRepository(db: Db, id: string): Promise<void> {
  await db.deleteFrom('repository').where('id', '=', id).execute();
}

/** One environment or set that uses the repository, when there is any. */
export function selectUser(
  db: Db,
  id: string,
): Promise<{ kind: 'environment' | 'repository set'; name: string } | undefined> {
  return db
    .selectFrom('environment')
    .select([sql<'environment' | 'repository set'>`'environment'`.as('kind'), 'name'])
    .where('repository_id', '=', id)
    .unionAll(
      db
        .selectFrom('repository_set')
        .innerJoin('repository_set_member as member', 'member.repository_set_id', 'repository_set.id')
        .select([sql<'environment' | 'repository set'>`'repository set'`.as('kind'), 'name'])
        .where('member.repository_id', '=', id),
    )
    .limit(1)
    .executeTakeFirst();
}

export async function countRepositories(db: Db, organizationId: string): Promise<number> {
  const { total } = await db
    .selectFrom('repository')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow();
  return total;
}

/** One parameter whatever the number of ids, so that the statement has one text. */
export function anyOf(ids: readonly string[]) {
  return sql<string>`any(${ids}::uuid[])`;
}

function rows(db: Db) {
  return db.selectFrom('repository').select(rowColumns);
}

function byId(db: Db, key: Key) {
  return rows(db).where('organization_id', '=', key.organizationId).where('id', '=', key.id);
}
