import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { loadConfig } from '../../src/config.ts';
import { createEnvironmentService } from '../../src/environment/service.ts';
import { createEnvironmentFileService } from '../../src/environment-file/service.ts';
import { createGit } from '../../src/git/git.ts';
import { createAppTokens } from '../../src/git-host/app-token.ts';
import { createGitHostService } from '../../src/git-host/service.ts';
import { createHookService } from '../../src/hook/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { openSealer } from '../../src/main.ts';
import { createMcpService } from '../../src/mcp/service.ts';
import { createRepositoryService } from '../../src/repository/service.ts';
import { createRepositoryCredentialService } from '../../src/repository-credential/service.ts';
import { createSkillService } from '../../src/skill/service.ts';
import { createSkillRegistryService } from '../../src/skill-registry/service.ts';
import { createVariableService } from '../../src/variable/service.ts';
import { createWarmPoolService } from '../../src/warm-pool/service.ts';
import { createWorkspacePlanner } from '../../src/workspace-plan/service.ts';
import type { World } from '../world/world.ts';

type Settings = { now?: () => Date; catalogUrl?: string; repositoryHost?: string };

/** A planner as the service has one, with a git cache of its own, on the database of a world. */
export async function startPlanner(world: World, settings: Settings = {}) {
  const {
    now = () => new Date(),
    catalogUrl = 'https://catalog.example/api/search',
    repositoryHost,
  } = settings;
  const cacheDir = await mkdtemp(join(tmpdir(), 'planner-git-'));
  const sealer = openSealer(loadConfig({ REPLICA_DATA_DIR: world.folder, DATABASE_URL: world.databaseUrl }));
  const allowPrivateTargets = true;
  const common = { newId, now, sealer, allowPrivateTargets };
  const warmPools = createWarmPoolService({ ...common, targetSize: 0 });
  const appTokens = createAppTokens({ ...common, hosts: createGitHostService(common) });
  const credentials = createRepositoryCredentialService({ ...common, appTokens });
  const repositories = createRepositoryService({ ...common, credentials, warmPools });
  const environments = createEnvironmentService({ ...common, warmPools, repositories });
  const attached = { ...common, environments, warmPools, repositories };
  const planner = createWorkspacePlanner({
    environments,
    repositories,
    variables: createVariableService(attached),
    files: createEnvironmentFileService(attached),
    mcps: createMcpService(attached),
    hooks: createHookService(attached),
    skills: createSkillService({ ...attached, catalog: { search: async () => [] } }),
    registries: createSkillRegistryService(attached),
    git: createGit({ cacheDir, allowPrivateTargets }),
    log: pino({ level: 'silent' }),
    now,
    allowPrivateTargets,
    catalogUrl,
    ...(repositoryHost !== undefined && { repositoryHost }),
  });

  /** The plan of an environment, with all its hooks. */
  const compose = (
    organizationId: string,
    environmentId: string | null,
    signal = AbortSignal.timeout(30_000),
  ) => planner.compose(world.db, { organizationId, environmentId, hooks: ['warm', 'start'], signal });

  return {
    compose,
    bindingOf: planner.bindingOf,
    async close() {
      await planner.close();
      await rm(cacheDir, { recursive: true, force: true });
    },
  };
}

export type Planner = Awaited<ReturnType<typeof startPlanner>>;
