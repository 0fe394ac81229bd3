import type { z } from 'zod';
import type { CodingAgent } from '../contract/message.ts';
import type { replicaOperations } from '../contract/replica.ts';
import type { Db } from '../db/database.ts';
import type { HookRunRow, HookRunService } from '../hook-run/service.ts';
import type { ReplicaRow, ReplicaService } from './service.ts';

type Details = z.input<(typeof replicaOperations)['getReplica']['answers'][200]>['replica'];
type Environment = NonNullable<Details['environment']>;
type Parts = {
  hookRuns: Pick<HookRunService, 'runsOf'>;
  codingAgents: {
    list(db: Db, tenant: { organizationId: string }): Promise<{ agent: CodingAgent; configured: boolean }[]>;
  };
  offline: { answers(db: Db, key: { organizationId: string; agent: CodingAgent }): Promise<boolean> };
  replicas: Pick<ReplicaService, 'repositoriesOf'>;
  hosts: { integrations(db: Db, organizationId: string): Promise<{ github: boolean; gitlab: boolean }> };
};

/** What `include=environment` shows that the engine does not know: what the organization has set, and how hooks ended. */
export function createDescribeEnvironment({ hookRuns, codingAgents, offline, replicas, hosts }: Parts) {
  return async function describe(
    db: Db,
    row: ReplicaRow,
  ): Promise<Pick<Environment, 'integrations' | 'coding_agents' | 'hooks'>> {
    const [agents, runs, repositories, gitHosts] = await Promise.all([
      codingAgents.list(db, { organizationId: row.organization_id }),
      hookRuns.runsOf(db, {
        replicaId: row.id,
        warmWorkspaceIds: row.warm_workspace_id ? [row.warm_workspace_id] : [],
      }),
      replicas.repositoriesOf(db, [row.id]),
      hosts.integrations(db, row.organization_id),
    ]);
    const stateOf = (phase: string, type: string, repository: string | null = null) =>
      hookState(
        runs.findLast(
          (run) => run.phase === phase && run.type === type && run.repository_name === repository,
        ),
      );
    const described = await Promise.all(
      agents.map(async ({ agent, configured }) => {
        const key = { organizationId: row.organization_id, agent };
        const method = configured ? 'api_key' : (await offline.answers(db, key)) ? 'offline_model' : null;
        return [agent, { available: method !== null, auth_method: method }] as const;
      }),
    );
    return {
      integrations: { ...gitHosts, linear: false, slack: false, google: false },
      coding_agents: Object.fromEntries(described) as Environment['coding_agents'],
      hooks: {
        global_warm_hook: stateOf('warm', 'global'),
        repositories: repositories.map(({ name }) => ({
          repository_name: name,
          warm_hook: stateOf('warm', 'repository', name),
          start_hook: stateOf('start', 'repository', name),
        })),
      },
    };
  };
}

function hookState(run: HookRunRow | undefined): { status: string; details: string | null } | null {
  if (!run) return null;
  if (run.status !== 'finished') return { status: 'running', details: null };
  if (run.timed_out) return { status: 'failed', details: 'It took longer than its limit.' };
  if (run.exit_code === 0) return { status: 'completed', details: null };
  if (run.exit_code === null) return { status: 'failed', details: 'It did not come to an end.' };
  return { status: 'failed', details: `It ended with exit code ${run.exit_code}.` };
}
