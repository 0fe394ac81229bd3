import type { z } from 'zod';
import type { chat, replicaOperations } from '../contract/replica.ts';
import { publicStatus } from './lifecycle.ts';
import type { ReplicaRepositoryRow, ReplicaRow } from './service.ts';

type Answers = typeof replicaOperations;
type ListItem = z.input<Answers['listReplicas']['answers'][200]>['replicas'][number];
type Details = z.input<Answers['getReplica']['answers'][200]>['replica'];
type Created = z.input<Answers['createReplica']['answers'][201]>['replica'];
type Environment = NonNullable<Details['environment']>;
type Chat = z.input<typeof chat>;

/** What the last boot said of the workspace, as it is kept with the replica. */
type EnvironmentReport = {
  filesUploaded: string[];
  variablesSet: string[];
  skillsInstalled: string[];
  warnings: string[];
  updatedAt: string;
};
type EngineRecord = { version: string; startedAt: string; incarnation: number };

export function presentListItem(row: ReplicaRow, repositories: readonly ReplicaRepositoryRow[]): ListItem {
  return {
    id: row.id,
    name: row.name,
    status: publicStatus[row.state] ?? 'archived',
    source: row.source as ListItem['source'],
    created_at: row.created_at.toISOString(),
    last_activity_at: row.last_activity_at?.toISOString() ?? null,
    repositories: repositories.map(({ repository_id, name, url }) => ({ id: repository_id, name, url })),
    pull_requests: repositories.flatMap(({ name, pr_urls }) => pr_urls.map((url) => pullRequest(name, url))),
  };
}

export function presentCreated(
  row: ReplicaRow,
  repositories: readonly ReplicaRepositoryRow[],
  at: Date,
): Created {
  return { ...presentListItem(row, repositories), engine: presentEngine(row, at) };
}

export type DetailParts = {
  repositories: readonly ReplicaRepositoryRow[];
  chats: Chat[];
  lastChatMessage: Details['lastChatMessage'];
  /** By the id of the repository; null unless they were asked for. */
  diffs: ReadonlyMap<string, string> | null;
  /** Null unless it was asked for. */
  environment: Pick<Environment, 'integrations' | 'coding_agents' | 'hooks'> | null;
  at: Date;
};

export function presentDetails(row: ReplicaRow, parts: DetailParts): Details {
  return {
    ...presentListItem(row, parts.repositories),
    coding_agent: row.coding_agent as Details['coding_agent'],
    repository_statuses: parts.repositories.map((each) =>
      presentRepositoryStatus(each, parts.diffs?.get(each.repository_id) ?? ''),
    ),
    waking: row.state === 'waking',
    chats: parts.chats,
    lastChatMessage: parts.lastChatMessage,
    config: presentConfig(row),
    lifecycle_policy: row.lifecycle_policy as Details['lifecycle_policy'],
    size: row.size as Details['size'],
    environment_id: row.environment_id,
    engine: presentEngine(row, parts.at),
    ...(parts.environment && { environment: presentEnvironment(row, parts.environment) }),
  };
}

export function presentRepositoryStatus(
  row: ReplicaRepositoryRow,
  fullDiff = '',
): Details['repository_statuses'][number] {
  return {
    repository: row.name,
    branch: row.branch,
    default_branch: row.default_branch,
    pr_urls: row.pr_urls,
    start_hooks_completed: row.start_hooks_completed,
    git_diff:
      row.added === null || row.removed === null
        ? null
        : { added: row.added, removed: row.removed, full_diff: fullDiff },
  };
}

/** What the caller set; a replica that could not be started says why in the place clients know. */
function presentConfig(row: ReplicaRow): Details['config'] {
  const config = row.config as Details['config'];
  return row.error_message === null
    ? config
    : { ...config, provisioning_error: { message: row.error_message } };
}

function presentEngine(row: ReplicaRow, at: Date): Details['engine'] {
  const engine = row.engine as EngineRecord | null;
  if (!engine || row.state !== 'active') return null;
  const uptimeSeconds = Math.max(0, Math.round((at.getTime() - Date.parse(engine.startedAt)) / 1000));
  return { version: engine.version, uptimeSeconds, incarnation: engine.incarnation };
}

function presentEnvironment(
  row: ReplicaRow,
  known: Pick<Environment, 'integrations' | 'coding_agents' | 'hooks'>,
): Environment {
  const report = row.environment_report as EnvironmentReport | null;
  const engine = row.engine as EngineRecord | null;
  return {
    engine_version: engine?.version ?? null,
    files_uploaded: report?.filesUploaded ?? [],
    env_vars_set: report?.variablesSet ?? [],
    skills_installed: report?.skillsInstalled ?? [],
    ...known,
    warnings: report?.warnings ?? [],
    last_updated_at: report?.updatedAt ?? null,
  };
}

function pullRequest(repository: string, url: string): ListItem['pull_requests'][number] {
  return { repository, number: Number(/(\d+)\/?$/.exec(url)?.[1] ?? 0), url };
}
