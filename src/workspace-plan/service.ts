import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { EnvironmentFileService } from '../environment-file/service.ts';
import type { Git } from '../git/git.ts';
import type { GitRemote } from '../git/remote.ts';
import { describeProblems } from '../hook/repository-hooks.ts';
import type { HookService } from '../hook/service.ts';
import type { PlannedHook } from '../hook-run/service.ts';
import type { Mcp, McpService } from '../mcp/service.ts';
import type { RepositoryContent, RepositoryService } from '../repository/service.ts';
import type { SkillService } from '../skill/service.ts';
import type { SkillRegistryService } from '../skill-registry/service.ts';
import type { VariableService } from '../variable/service.ts';
import { folderNames } from './folder-name.ts';
import { createSkillGatherer } from './gather-skills.ts';
import { joinPrompts, layerBy, layerFiles, splitLayers } from './layer.ts';
import { quoted } from './listed.ts';
import { toMcpServer } from './mcp-server.ts';
import type { PlannedRepository, WorkspacePlan } from './plan.ts';
import { planHooks } from './plan-hooks.ts';
import { createSkillShelf } from './skill-shelf.ts';

type Parts = {
  environments: Pick<EnvironmentService, 'layers'>;
  variables: Pick<VariableService, 'ofEnvironments'>;
  files: Pick<EnvironmentFileService, 'ofEnvironments'>;
  mcps: Pick<McpService, 'ofEnvironments'>;
  hooks: Pick<HookService, 'ofEnvironments'>;
  skills: Pick<SkillService, 'ofEnvironments'>;
  registries: Pick<SkillRegistryService, 'ofEnvironments'>;
  repositories: Pick<RepositoryService, 'boundRepositories' | 'boundRemote' | 'remoteByUrl'>;
  git: Pick<Git, 'tree'>;
  /** Where skills are searched; its pages are no repositories themselves. */
  catalogUrl: string;
  /** Where the repositories of the catalog lie. */
  repositoryHost?: string;
  allowPrivateTargets: boolean;
  log: Pick<Logger, 'info' | 'error'>;
  now: () => Date;
};

type Wanted = {
  organizationId: string;
  /** Null when the environment is gone: then the Global one is all there is. */
  environmentId: string | null;
  hooks: readonly PlannedHook['phase'][];
  signal: AbortSignal;
};

const REPOSITORY_HOST = 'https://github.com';

export function createWorkspacePlanner(parts: Parts) {
  const { environments, repositories } = parts;
  const shelf = createSkillShelf(parts);
  const gatherer = createSkillGatherer({ repositoryHost: REPOSITORY_HOST, ...parts, shelf });

  /**
   * What a workspace of an environment shall be like, as things stand. It may wait for git hosts, though not long, so
   * it is not for a transaction.
   */
  async function compose(db: Db, wanted: Wanted): Promise<WorkspacePlan> {
    const { organizationId, signal } = wanted;
    signal.throwIfAborted();
    const layers = await environments.layers(db, wanted);
    const ids = layers.map(({ id }) => id);
    const binding = layers.find(({ is_global }) => !is_global);
    const [variables, files, mcps, hooks, skillRows, registryRows, bound] = await Promise.all([
      parts.variables.ofEnvironments(db, ids),
      parts.files.ofEnvironments(db, ids),
      parts.mcps.ofEnvironments(db, ids),
      parts.hooks.ofEnvironments(db, ids),
      parts.skills.ofEnvironments(db, ids),
      parts.registries.ofEnvironments(db, ids),
      binding ? repositories.boundRepositories(db, binding) : [],
    ]);
    const gathered = await gatherer.gather(db, {
      organizationId,
      skills: splitLayers(skillRows, ids),
      registries: splitLayers(registryRows, ids),
      signal,
    });
    const planned = planRepositories(bound);
    const folders = new Map(planned.map(({ id, name }) => [id, name]));
    const layeredFiles = layerFiles(splitLayers(files, ids));
    const layeredMcps = planMcpServers(splitLayers(mcps, ids));
    return {
      repositories: planned,
      defaultBranches: Object.fromEntries(planned.map(({ id, branch }) => [id, branch])),
      files: layeredFiles.files.map(({ path, content }) => ({ path, contentBase64: toBase64(content) })),
      // Not by assignment: a variable may be called __proto__.
      variables: Object.fromEntries(
        layerBy(splitLayers(variables, ids), ({ key }) => key).map(({ key, value }) => [key, value]),
      ),
      skills: gathered.skills,
      mcpServers: layeredMcps.servers,
      systemPrompt: joinPrompts([
        ...layers.map(({ system_prompt }) => system_prompt),
        ...bound.map(({ configuration }) => configuration.systemPrompt),
      ]),
      hooks: planHooks({ environments: layers, hooks, repositories: bound, folders }, wanted.hooks),
      problems: [
        ...bound.flatMap(describeProblems),
        ...layeredFiles.problems,
        ...layeredMcps.problems,
        ...gathered.problems,
      ],
    };
  }

  /** How to reach a repository that an environment is bound to, and a name for what is kept of it; null for any other. */
  async function bindingOf(
    db: Db,
    wanted: { organizationId: string; environmentId: string | null; repositoryId: string },
  ): Promise<{ remote: GitRemote; key: string } | null> {
    const { organizationId, environmentId, repositoryId } = wanted;
    if (environmentId === null) return null;
    const remote = await repositories.boundRemote(db, { organizationId, environmentId, repositoryId });
    return remote && { remote, key: `${organizationId}/${repositoryId}` };
  }

  return { compose, bindingOf, close: shelf.close };
}

/** A branch that no check has read yet is left to the remote. */
function planRepositories(bound: readonly RepositoryContent[]): PlannedRepository[] {
  const folders = folderNames(bound.map(({ name }) => name));
  return bound.map(({ id, name, url, default_branch }, index) => ({
    id,
    name: folders[index] ?? name,
    url,
    branch: default_branch,
  }));
}

function planMcpServers(layers: readonly (readonly Mcp[])[]): {
  servers: WorkspacePlan['mcpServers'];
  problems: string[];
} {
  const servers: WorkspacePlan['mcpServers'] = {};
  const problems: string[] = [];
  for (const mcp of layerBy(layers, ({ name }) => name)) {
    const server = toMcpServer(mcp);
    if (server?.transport === 'sse')
      problems.push(`Codex works without the MCP server ${quoted(mcp.name)}: it does not speak SSE.`);
    if (server) servers[mcp.name] = server;
    else problems.push(`The MCP server ${quoted(mcp.name)} is left out, because its config does not fit.`);
  }
  return { servers, problems };
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}
