import type { RepositoryContent } from '../repository/service.ts';
import type { HookKind } from './store.ts';

/** A repository as its last check left it; `head_commit` is null until its tree was read once. */
type Source = Pick<RepositoryContent, 'id' | 'name' | 'status' | 'error' | 'head_commit'> & {
  configuration: Omit<RepositoryContent['configuration'], 'systemPrompt'>;
};
type ConfiguredHook = NonNullable<Source['configuration']['warmHook']>;

type RepositoryHook = ConfiguredHook & {
  repository_id: string;
  repository_name: string;
  path: string;
};
export type RepositoryHooks = { repository_hooks: RepositoryHook[]; error: string | null };

/**
 * The hooks of one kind in the order of the repositories. What was read before a repository became unreachable is
 * still listed, together with the reason why it may be old.
 */
export function readRepositoryHooks(sources: readonly Source[], kind: HookKind): RepositoryHooks {
  const problems = sources.flatMap(describeProblems);
  return {
    repository_hooks: sources.flatMap((source) => hookOf(source, kind)),
    error: problems.length > 0 ? problems.join(' ') : null,
  };
}

function hookOf({ id, name, configuration }: Source, kind: HookKind): RepositoryHook[] {
  const hook = kind === 'warm' ? configuration.warmHook : configuration.startHook;
  if (!hook || configuration.path === null) return [];
  const { commands, timeout, separate } = hook;
  return [
    { repository_id: id, repository_name: name, path: configuration.path, commands, timeout, separate },
  ];
}

/** Why what a repository brings along may be missing or old, in sentences. */
export function describeProblems({ name, status, error, head_commit, configuration }: Source): string[] {
  const reasons: string[] = [];
  if (status === 'error') reasons.push(error ?? 'The repository could not be read.');
  else if (head_commit === null) reasons.push('The repository has not been read yet.');
  if (configuration.error !== null) reasons.push(configuration.error);
  return reasons.map((reason) => `${name}: ${reason}`);
}
