import type { Insertable, Selectable } from 'kysely';
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

export function upsertHost(db: Db, row: Insertable<GitHost>): Promise<GitHostRow> {
  const { kind, api_url, updated_at } = row;
  return db
    .insertInto('git_host')
    .values(row)
    .onConflict((conflict) =>
      conflict.constraint('git_host_host_key').doUpdateSet({ kind, api_url, updated_at }),
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
