import { type Expression, type Insertable, type SqlBool, sql, type Updateable } from 'kysely';
import type { TriggerType } from '../contract/automation.ts';
import type { Db } from '../db/database.ts';
import type { Automation } from '../db/schema.ts';
import type { AutomationRow } from './fire.ts';

type Key = { organizationId: string; id: string };
type MemberKey = { organizationId: string; personId: string };

export type AutomationFilter = {
  organizationId: string;
  /** Whose personal ones are listed; null for nobody's. */
  personId: string | null;
  hasShared: boolean;
  enabled?: boolean | undefined;
  triggerType?: TriggerType | undefined;
  search?: string | undefined;
  limit: number;
  offset: number;
};

export function selectAutomation(db: Db, { organizationId, id }: Key): Promise<AutomationRow | undefined> {
  return db
    .selectFrom('automation')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export function selectAutomationById(db: Db, id: string): Promise<AutomationRow | undefined> {
  return db.selectFrom('automation').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Changes of one automation and of what it has in work come one after the other; new executions need not wait. */
export function lockAutomation(db: Db, id: string): Promise<AutomationRow | undefined> {
  return db.selectFrom('automation').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst();
}

export function insertAutomation(db: Db, row: Insertable<Automation>): Promise<AutomationRow> {
  return db.insertInto('automation').values(row).returningAll().executeTakeFirstOrThrow();
}

export function updateAutomation(
  db: Db,
  id: string,
  change: Updateable<Automation>,
): Promise<AutomationRow | undefined> {
  return db.updateTable('automation').set(change).where('id', '=', id).returningAll().executeTakeFirst();
}

export async function deleteAutomation(db: Db, id: string): Promise<void> {
  await db.deleteFrom('automation').where('id', '=', id).execute();
}

export async function deletePersonal(db: Db, { organizationId, personId }: MemberKey): Promise<void> {
  await db
    .deleteFrom('automation')
    .where('organization_id', '=', organizationId)
    .where('person_id', '=', personId)
    .execute();
}

export async function selectAutomations(
  db: Db,
  filter: AutomationFilter,
): Promise<{ rows: AutomationRow[]; total: number }> {
  const matching = db
    .selectFrom('automation')
    .where('organization_id', '=', filter.organizationId)
    .where((is) => {
      const owners: Expression<SqlBool>[] = [is('person_id', '=', filter.personId)];
      if (filter.hasShared) owners.push(is('person_id', 'is', null));
      return is.or(owners);
    })
    .$if(filter.enabled !== undefined, (query) => query.where('enabled', '=', filter.enabled === true))
    .$if(filter.triggerType !== undefined, (query) =>
      query.where(sql<SqlBool>`triggers @> ${JSON.stringify([{ type: filter.triggerType }])}::jsonb`),
    )
    .$if(filter.search !== undefined, (query) => {
      const pattern = `%${(filter.search ?? '').replaceAll(/[\\%_]/g, '\\$&')}%`;
      return query.where((is) => is.or([is('name', 'ilike', pattern), is('description', 'ilike', pattern)]));
    });
  const [rows, counted] = await Promise.all([
    matching
      .selectAll()
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(filter.limit)
      .offset(filter.offset)
      .execute(),
    matching.select(sql<number>`count(*)::int`.as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows, total: counted.total };
}

export async function countAutomations(db: Db, organizationId: string): Promise<number> {
  const { total } = await db
    .selectFrom('automation')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('organization_id', '=', organizationId)
    .executeTakeFirstOrThrow();
  return total;
}

/** Whether the organization has connected all of these repositories. */
export async function hasRepositories(
  db: Db,
  { organizationId, ids }: { organizationId: string; ids: readonly string[] },
): Promise<boolean> {
  if (ids.length === 0) return true;
  const { total } = await db
    .selectFrom('repository')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('organization_id', '=', organizationId)
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .executeTakeFirstOrThrow();
  return total === ids.length;
}

export async function isMember(db: Db, key: MemberKey): Promise<boolean> {
  return (await member(db, key).executeTakeFirst()) !== undefined;
}

/** Whether somebody is a member, who stays one until the transaction ends. */
export async function holdMember(db: Db, key: MemberKey): Promise<boolean> {
  return (await member(db, key).forKeyShare().executeTakeFirst()) !== undefined;
}

function member(db: Db, { organizationId, personId }: MemberKey) {
  return db
    .selectFrom('member')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('person_id', '=', personId);
}
