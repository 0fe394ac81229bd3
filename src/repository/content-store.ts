import type { Db } from '../db/database.ts';
import type { Json } from '../db/schema.ts';
import type { RepositoryConfiguration } from './configuration.ts';
import type { SkillCandidate } from './skills.ts';
import { anyOf, type RepositoryRow, rowColumns } from './store.ts';

/** The configuration file of a repository. A file that cannot be used has an error and sets nothing. */
export type ConfigurationFile = RepositoryConfiguration & {
  /** Null when the repository has none. */
  path: string | null;
  error: string | null;
};

/** Something for agents that lies in a repository. */
export type RepositorySkill = SkillCandidate & { description: string };

/** What a check read from the head of the branch. */
export type RepositoryReading = {
  /** Null when the remote's head is on no branch. */
  default_branch: string | null;
  head_commit: string;
  configuration: ConfigurationFile;
  skills: RepositorySkill[];
};

/** A repository with what the last good check read from it; before the first one that is nothing. */
export type RepositoryContent = RepositoryRow & Pick<RepositoryReading, 'configuration' | 'skills'>;

export const noConfiguration: ConfigurationFile = {
  path: null,
  error: null,
  systemPrompt: null,
  warmHook: null,
  startHook: null,
};

/** In the order of the ids; what is absent or another organization's is left out. */
export async function selectContents(
  db: Db,
  wanted: { organizationId: string; ids: readonly string[] },
): Promise<RepositoryContent[]> {
  const rows = await contents(db)
    .where('repository.organization_id', '=', wanted.organizationId)
    .where('repository.id', '=', anyOf(wanted.ids))
    .execute();
  const found = new Map(rows.map((row) => [row.id, open(row)]));
  return wanted.ids.flatMap((id) => found.get(id) ?? []);
}

/** In the order of the set. */
export async function selectContentsOfSet(
  db: Db,
  wanted: { organizationId: string; setId: string },
): Promise<RepositoryContent[]> {
  const rows = await contents(db)
    .innerJoin('repository_set_member as member', 'member.repository_id', 'repository.id')
    .where('repository.organization_id', '=', wanted.organizationId)
    .where('member.repository_set_id', '=', wanted.setId)
    .orderBy('member.position')
    .execute();
  return rows.map(open);
}

function contents(db: Db) {
  return db
    .selectFrom('repository')
    .select(rowColumns)
    .select(['repository.configuration', 'repository.skills']);
}

/** The two columns are written by checks only, from values of these types. */
function open(row: RepositoryRow & { configuration: Json; skills: Json }): RepositoryContent {
  return {
    ...row,
    configuration: { ...noConfiguration, ...(row.configuration as Partial<ConfigurationFile>) },
    skills: row.skills as RepositorySkill[],
  };
}
