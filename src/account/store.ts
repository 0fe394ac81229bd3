import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';
import type { Role } from './caller.ts';

type PersonRow = Pick<Selectable<DB['person']>, 'id' | 'name' | 'email'>;
type OrganizationRow = Pick<Selectable<DB['organization']>, 'id' | 'name' | 'slug'>;
export type MemberRow = { user_id: string; name: string; email: string; role: Role; created_at: Date };
export type Page = { page: number; limit: number };

type MemberKey = { organizationId: string; personId: string };

export function selectOrganization(db: Db, id: string): Promise<OrganizationRow | undefined> {
  return db.selectFrom('organization').select(['id', 'name', 'slug']).where('id', '=', id).executeTakeFirst();
}

/** Changes of who belongs to an organization, and of how many keys it has, come one after the other. */
export function lockOrganization(db: Db, id: string): Promise<OrganizationRow | undefined> {
  return db
    .selectFrom('organization')
    .select(['id', 'name', 'slug'])
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

export async function hasOrganization(db: Db): Promise<boolean> {
  const found = await db.selectFrom('organization').select('id').limit(1).executeTakeFirst();
  return found !== undefined;
}

export function selectPerson(db: Db, id: string): Promise<PersonRow | undefined> {
  return db.selectFrom('person').select(['id', 'name', 'email']).where('id', '=', id).executeTakeFirst();
}

export function selectPersonByEmail(db: Db, email: string): Promise<PersonRow | undefined> {
  return db
    .selectFrom('person')
    .select(['id', 'name', 'email'])
    .where('email', '=', email)
    .executeTakeFirst();
}

/** The preferred organization while the person belongs to it, else the one joined first. */
export async function selectLoginOrganization(
  db: Db,
  login: { personId: string; preferred: string | null },
): Promise<string | null> {
  const member = await db
    .selectFrom('member')
    .select('organization_id')
    .where('person_id', '=', login.personId)
    .orderBy(sql`organization_id = ${login.preferred}::uuid`, (order) => order.desc().nullsLast())
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return member?.organization_id ?? null;
}

export async function selectRole(db: Db, key: MemberKey): Promise<Role | null> {
  const member = await db
    .selectFrom('member')
    .select('role')
    .where('organization_id', '=', key.organizationId)
    .where('person_id', '=', key.personId)
    .executeTakeFirst();
  return member ? (member.role as Role) : null;
}

export async function selectMembers(
  db: Db,
  organizationId: string,
  { page, limit }: Page,
): Promise<MemberRow[]> {
  return members(db, organizationId)
    .orderBy('member.id')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute();
}

export function selectMember(db: Db, key: MemberKey): Promise<MemberRow | undefined> {
  return members(db, key.organizationId).where('member.person_id', '=', key.personId).executeTakeFirst();
}

export async function countMembers(db: Db, organizationId: string, role?: Role): Promise<number> {
  let query = db
    .selectFrom('member')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('organization_id', '=', organizationId);
  if (role) query = query.where('role', '=', role);
  return (await query.executeTakeFirstOrThrow()).total;
}

export async function updateRole(db: Db, key: MemberKey & { role: Role }): Promise<void> {
  await db
    .updateTable('member')
    .set({ role: key.role })
    .where('organization_id', '=', key.organizationId)
    .where('person_id', '=', key.personId)
    .execute();
}

/** The person's sessions stay: they may belong to other organizations. */
export async function deleteMember(db: Db, key: MemberKey): Promise<void> {
  await db
    .deleteFrom('member')
    .where('organization_id', '=', key.organizationId)
    .where('person_id', '=', key.personId)
    .execute();
}

function members(db: Db, organizationId: string) {
  return db
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.person_id')
    .select([
      'person.id as user_id',
      'person.name',
      'person.email',
      sql<Role>`member.role`.as('role'),
      'member.created_at',
    ])
    .where('member.organization_id', '=', organizationId);
}
