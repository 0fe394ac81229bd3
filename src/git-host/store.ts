import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { GitHost } from '../db/schema.ts';

export type GitHostRow = Selectable<GitHost>;

export function selectHosts(db: Db, organizationId: string): Promise<GitHostRow[]> {
  return db
    .selectFrom('git_host')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('host')
    .execute();
}

export function selectHost(
  db: Db,
  key: { organizationId: string; host: string },
): Promise<GitHostRow | undefined> {
  return db
    .selectFrom('git_host')
    .selectAll()
    .where('organization_id', '=', key.organizationId)
    .where('host', '=', key.host)
    .executeTakeFirst();
}

/** Inserts the host, or changes the one there is. A sealed secret is bound to the id, so the id comes along with it. */
export function upsertHost(db: Db, row: Insertable<GitHost>): Promise<GitHostRow> {
  const { id, kind, api_url, webhook_secret, updated_at } = row;
  const changes = { kind, api_url, updated_at };
  return db
    .insertInto('git_host')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .constraint('git_host_host_key')
        .doUpdateSet(webhook_secret === undefined ? changes : { ...changes, id, webhook_secret }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteHost(db: Db, key: { organizationId: string; host: string }): Promise<void> {
  await db
    .deleteFrom('git_host')
    .where('organization_id', '=', key.organizationId)
    .where('host', '=', key.host)
    .execute();
}

/** Hosts of repositories that the organization reads with a credential. */
export async function selectCredentialHosts(db: Db, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('repository')
    .select(sql<string>`split_part(url, '/', 3)`.as('host'))
    .distinct()
    .where('organization_id', '=', organizationId)
    .where('credential_id', 'is not', null)
    .execute();
  return rows.map(({ host }) => host);
}
