import type { Insertable, Selectable } from 'kysely';
import type { Db } from '../db/database.ts';
import { prepared } from '../db/prepared.ts';
import type { DB } from '../db/schema.ts';

export type CodingAgentRow = Selectable<DB['coding_agent_setting']>;

export function selectSettings(db: Db, organizationId: string): Promise<CodingAgentRow[]> {
  return db
    .selectFrom('coding_agent_setting')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .execute();
}

export async function selectSetting(
  db: Db,
  key: { organizationId: string; agent: string },
): Promise<CodingAgentRow | undefined> {
  const [row] = await selectOne(db, key);
  return row;
}

const selectOne = prepared(['organizationId', 'agent'], (db, { organizationId, agent }) =>
  db
    .selectFrom('coding_agent_setting')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('agent', '=', agent),
);

/** Inserts the setting, or replaces the one there is. The sealed key is bound to the id, so the id comes along. */
export function upsertSetting(db: Db, row: Insertable<DB['coding_agent_setting']>): Promise<CodingAgentRow> {
  const { id, api_key, base_url, updated_at } = row;
  return db
    .insertInto('coding_agent_setting')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .constraint('coding_agent_setting_agent_key')
        .doUpdateSet({ id, api_key, base_url, updated_at }),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

export async function deleteSetting(db: Db, key: { organizationId: string; agent: string }): Promise<void> {
  await db
    .deleteFrom('coding_agent_setting')
    .where('organization_id', '=', key.organizationId)
    .where('agent', '=', key.agent)
    .execute();
}
