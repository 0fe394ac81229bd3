import { readRepositoryHooks } from '../hook/repository-hooks.ts';
import type { PlannedHook } from '../hook-run/service.ts';
import type { RepositoryContent } from '../repository/service.ts';

type Phase = PlannedHook['phase'];
type Sources = {
  /** The Global environment first. */
  environments: readonly { id: string; is_global: boolean }[];
  /** The active ones. */
  hooks: readonly { environment_id: string; kind: string; content: string }[];
  repositories: readonly Pick<
    RepositoryContent,
    'id' | 'name' | 'status' | 'error' | 'head_commit' | 'configuration'
  >[];
  /** The name of a repository's folder, by its id. */
  folders: ReadonlyMap<string, string>;
};

/** What runs first in every workspace, whatever the order in which phases are asked for. */
const PHASES: readonly Phase[] = ['warm', 'start'];

const HOOK_TIMEOUT_MS = 5 * 60_000;
const MAX_HOOK_TIMEOUT_MS = 15 * 60_000;

/** In each phase the hook of the Global environment comes first, then that of the named one, then those of repositories. */
export function planHooks(sources: Sources, phases: readonly Phase[]): PlannedHook[] {
  return PHASES.filter((phase) => phases.includes(phase)).flatMap((phase) => [
    ...ofEnvironments(sources, phase),
    ...ofRepositories(sources, phase),
  ]);
}

function ofEnvironments({ environments, hooks }: Sources, phase: Phase): PlannedHook[] {
  return environments.flatMap(({ id, is_global }) => {
    const hook = hooks.find(({ environment_id, kind }) => environment_id === id && kind === phase);
    if (!hook) return [];
    return {
      phase,
      // Start hooks are told apart by name only: the API knows no `global` among their types.
      type: is_global && phase === 'warm' ? ('global' as const) : ('environment' as const),
      name: is_global ? 'global' : 'environment',
      repositoryName: null,
      repository: null,
      commands: [hook.content],
      timeoutMs: HOOK_TIMEOUT_MS,
      separate: false,
    };
  });
}

function ofRepositories({ repositories, folders }: Sources, phase: Phase): PlannedHook[] {
  return readRepositoryHooks(repositories, phase).repository_hooks.map((hook) => ({
    phase,
    type: 'repository',
    name: hook.repository_name,
    repositoryName: hook.repository_name,
    repository: folders.get(hook.repository_id) ?? null,
    commands: hook.commands,
    timeoutMs: Math.min(hook.timeout, MAX_HOOK_TIMEOUT_MS),
    separate: hook.separate,
  }));
}
