import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';
import type { Page } from './store.ts';

export type ApiKeyRow = Pick<
  Selectable<DB['api_key']>,
  'id' | 'name' | 'prefix' | 'created_at' | 'last_used_at'
>;

/** Whose keys: the person's within the organization, or with null the organization's own. */
export type Owner = { organizationId: string; personId: string | null };

const columns = ['id', 'name', 'prefix', 'created_at', 'last_used_at'] as const;

export function selectApiKeys(db: Db, owner: Owner, { page, limit }: Page): Promise<ApiKeyRow[]> {
  return owned(db, owner)
    .select(columns)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute();
}

export async function countApiKeys(db: Db, owner: Owner): Promise<number> {
  const { total } = await owned(db, owner)
    .select(sql<number>`count(*)::int`.as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

export function selectApiKey(
  db: Db,
  key: { organizationId: string; id: string },
): Promise<ApiKeyRow | undefined> {
  return db
    .selectFrom('api_key')
    .select(columns)
    .where('organization_id', '=', key.organizationId)
    .where('id', '=', key.id)
    .executeTakeFirst();
}

export function insertApiKey(db: Db, row: Insertable<DB['api_key']>): Promise<ApiKeyRow> {
  return db.insertInto('api_key').values(row).returning(columns).executeTakeFirstOrThrow();
}

/** Says whether there was such a key. */
export async function deleteApiKey(db: Db, owner: Owner, id: string): Promise<boolean> {
  const deleted = await db
    .deleteFrom('api_key')
    .where('organization_id', '=', owner.organizationId)
    .where('person_id', 'is not distinct from', owner.personId)
    .where('id', '=', id)
    .returning('id')
    .executeTakeFirst();
  return deleted !== undefined;
}

function owned(db: Db, { organizationId, personId }: Owner) {
  const query = db.selectFrom('api_key').where('organization_id', '=', organizationId);
  return personId ? query.where('person_id', '=', personId) : query.where('person_id', 'is', null);
}
