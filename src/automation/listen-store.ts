import { type SqlBool, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { AutomationRow } from './fire.ts';

export type ListeningAutomation = AutomationRow & {
  /** What its environment is bound to; null when it is bound to nothing. */
  boundRepositoryIds: string[] | null;
};

/** The automations of an organization that are on and listen to a kind of git host. They cannot go before the transaction ends. */
export function selectListening(
  db: Db,
  { organizationId, triggerType }: { organizationId: string; triggerType: 'github' | 'gitlab' },
): Promise<ListeningAutomation[]> {
  return db
    .selectFrom('automation')
    .innerJoin('environment', 'environment.id', 'automation.environment_id')
    .selectAll('automation')
    .select((row) => [
      row
        .case()
        .when('environment.repository_id', 'is not', null)
        .then(sql<string[]>`array[environment.repository_id]`)
        .when('environment.repository_set_id', 'is not', null)
        .then(
          sql<string[]>`array(
            select member.repository_id
              from repository_set_member member
             where member.repository_set_id = environment.repository_set_id)`,
        )
        .else(null)
        .end()
        .as('boundRepositoryIds'),
    ])
    .where('automation.organization_id', '=', organizationId)
    .where('automation.enabled', '=', true)
    .where(sql<SqlBool>`automation.triggers @> ${JSON.stringify([{ type: triggerType }])}::jsonb`)
    .orderBy('automation.id')
    .forKeyShare('automation')
    .execute();
}
