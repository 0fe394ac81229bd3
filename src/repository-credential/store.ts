import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';

export type CredentialRow = Selectable<DB['repository_credential']>;
type Key = { organizationId: string; id: string };

export function selectCredentials(db: Db, organizationId: string): Promise<CredentialRow[]> {
  return db
    .selectFrom('repository_credential')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute();
}

export function selectCredential(db: Db, key: Key): Promise<CredentialRow | undefined> {
  return byId(db, key).executeTakeFirst();
}

/** The credential cannot go before the transaction ends; others may use it too. */
export function shareCredential(db: Db, key: Key): Promise<CredentialRow | undefined> {
  return byId(db, key).forKeyShare().executeTakeFirst();
}

/** Nobody can start to use the credential before the transaction ends. */
export function lockCredential(db: Db, key: Key): Promise<CredentialRow | undefined> {
  return byId(db, key).forUpdate().executeTakeFirst();
}

export function insertCredential(
  db: Db,
  row: Insertable<DB['repository_credential']>,
): Promise<CredentialRow> {
  return db.insertInto('repository_credential').values(row).returningAll().executeTakeFirstOrThrow();
}

export async function deleteCredential(db: Db, id: string): Promise<void> {
  await db.deleteFrom('repository_credential').where('id', '=', id).execute();
}

/** One repository that uses the credential, when there is any. */
export async function selectUser(db: Db, credentialId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('repository')
    .select('name')
    .where('credential_id', '=', credentialId)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row?.name;
}

export async function countCredentials(db: Db, organizationId: string): Promise<number> {
  const { total } = await db
    .selectFrom('repository_credential')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow();
  return total;
}

function byId(db: Db, key: Key) {
  return db
    .selectFrom('repository_credential')
    .selectAll()
    .where('organization_id', '=', key.organizationId)
    .where('id', '=', key.id);
}
