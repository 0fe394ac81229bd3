import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { EgressContact } from '../db/schema.ts';

export type EgressContactRow = Selectable<EgressContact>;
export type StoredPolicy = { egress_mode: string | null; egress_hosts: string[] };

/** The policies of an environment and of the Global one of its organization. */
export function selectPolicies(
  db: Db,
  wanted: { organizationId: string; environmentId: string | null },
): Promise<(StoredPolicy & { is_global: boolean })[]> {
  return db
    .selectFrom('environment')
    .select(['egress_mode', 'egress_hosts', 'is_global'])
    .where('organization_id', '=', wanted.organizationId)
    .where((eb) => eb.or([eb('is_global', '=', true), eb('id', '=', wanted.environmentId)]))
    .execute();
}

export async function updatePolicy(db: Db, environmentId: string, policy: StoredPolicy): Promise<void> {
  await db.updateTable('environment').set(policy).where('id', '=', environmentId).execute();
}

export type ContactCount = {
  replica_id: string;
  host: string;
  port: number;
  is_allowed: boolean;
  reason: string;
  times: number;
  first_at: Date;
  last_at: Date;
};

/** Adds counts to what is known; replicas that are gone meanwhile, and new contacts beyond the most, are left out. */
export async function addContacts(db: Db, counts: readonly ContactCount[], most: number): Promise<void> {
  await sql`
    with given as (
      select * from jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) as given (replica_id uuid, host text,
          port int, is_allowed boolean, reason text, times bigint, first_at timestamptz, last_at timestamptz)
       where exists (select from replica where replica.id = given.replica_id)
    ), kept as (
      select replica_id, count(*) as total from egress_contact
       where replica_id in (select replica_id from given) group by replica_id
    ), placed as (
      select given.*, known.times is not null as is_known,
             coalesce(kept.total, 0) + row_number() over (
               partition by replica_id, known.times is not null order by given.first_at, host, port) as place
        from given
        left join egress_contact known using (replica_id, host, port, is_allowed)
        left join kept using (replica_id)
    )
    insert into egress_contact (replica_id, host, port, is_allowed, reason, times, first_at, last_at)
    select replica_id, host, port, is_allowed, reason, times, first_at, last_at from placed
     where is_known or place <= ${most}
        on conflict (replica_id, host, port, is_allowed) do update
       set times = egress_contact.times + excluded.times, last_at = excluded.last_at, reason = excluded.reason
  `.execute(db);
}

export function selectContacts(db: Db, replicaId: string): Promise<EgressContactRow[]> {
  return db
    .selectFrom('egress_contact')
    .selectAll()
    .where('replica_id', '=', replicaId)
    .orderBy('last_at', 'desc')
    .orderBy('host')
    .limit(500)
    .execute();
}
