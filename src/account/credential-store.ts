import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { Caller, Role } from './caller.ts';
import type { CredentialChange } from './key-cache.ts';

/** Who a key speaks for. A personal key needs a membership that stands. */
export async function selectKeyCaller(
  db: Db,
  hash: Buffer,
): Promise<{ hash: Buffer; caller: Caller } | null> {
  const row = await db
    .selectFrom('api_key')
    .leftJoin('member', (join) =>
      join
        .onRef('member.organization_id', '=', 'api_key.organization_id')
        .onRef('member.person_id', '=', 'api_key.person_id'),
    )
    .select(['api_key.id', 'api_key.hash', 'api_key.organization_id', 'api_key.person_id', 'member.role'])
    .where('api_key.hash', '=', hash)
    .executeTakeFirst();
  if (!row || (row.person_id && !row.role)) return null;
  return {
    hash: row.hash,
    caller: {
      organizationId: row.organization_id,
      kind: row.person_id ? 'personal_key' : 'org_key',
      keyId: row.id,
      personId: row.person_id,
      role: row.person_id ? (row.role as Role) : 'admin',
    },
  };
}

type Look = {
  /** The oldest transaction that ran at the time of the look: every later change has this number or a higher one. */
  horizon: string;
  changes: CredentialChange[];
};

/** Everything committed since the look that gave `horizon`; with null, nothing but a horizon to start from. */
export async function selectChanges(db: Db, horizon: string | null): Promise<Look> {
  const { rows } = await sql<{
    horizon: string;
    organization_id: string | null;
    key_hash: Buffer | null;
    person_id: string | null;
  }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as horizon,
           change.organization_id, change.key_hash, change.person_id
      from (select 1) as once
      left join credential_change as change on change.transaction_id >= ${horizon}::xid8`.execute(db);
  const [first] = rows;
  if (!first) throw new Error('the look at credential_change gave no row');
  return {
    horizon: first.horizon,
    changes: rows.flatMap((row) =>
      row.organization_id
        ? [{ keyHash: row.key_hash, organizationId: row.organization_id, personId: row.person_id }]
        : [],
    ),
  };
}

/** One statement for all keys. A key that another process writes at this moment is left to that one. */
export async function updateLastUsed(db: Db, uses: readonly { keyId: string; at: Date }[]): Promise<void> {
  const ids = uses.map((use) => use.keyId);
  const times = uses.map((use) => use.at);
  await sql`
    with used as (select * from unnest(${ids}::uuid[], ${times}::timestamptz[]) as used (id, at)),
         free as (select id from api_key where id in (select id from used) order by id for no key update skip locked)
    update api_key set last_used_at = used.at
      from used join free using (id)
     where api_key.id = used.id and (api_key.last_used_at is null or api_key.last_used_at < used.at)`.execute(
    db,
  );
}

export function selectSigningKeys(db: Db) {
  return db.selectFrom('signing_key').select(['id', 'public_key', 'alg', 'expires_at']).execute();
}
