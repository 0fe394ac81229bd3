import type { Db } from '../db/database.ts';

export type Member = { id: string; name: string; email: string };
type MemberKey = { organizationId: string } & ({ personId: string } | { email: string });

/** A member of the organization, by id or by address. */
export function selectMember(db: Db, key: MemberKey): Promise<Member | undefined> {
  const members = db
    .selectFrom('member')
    .innerJoin('person', 'person.id', 'member.person_id')
    .select(['person.id', 'person.name', 'person.email'])
    .where('member.organization_id', '=', key.organizationId);
  const found =
    'personId' in key
      ? members.where('person.id', '=', key.personId)
      : members.where('person.email', '=', key.email);
  return found.executeTakeFirst();
}
