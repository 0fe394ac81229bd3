import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { EngineContext } from './context.ts';
import { gitEnvironment, safeSettings } from './git-environment.ts';
import { describeGitFailure, isMissingBranch } from './git-failure.ts';
import { openGitFolder } from './git-folder.ts';
import { GitFailure, runGit } from './git-process.ts';
import type { BootRepository } from './protocol.ts';
import { clonesFolder } from './temporary-file.ts';

type Clone = {
  context: EngineContext;
  repository: Pick<BootRepository, 'name' | 'url' | 'branch'>;
  /** A folder that may go at any time; the caller moves it to its place when it is whole. */
  folder: string;
  isCheckedOut: boolean;
  signal: AbortSignal;
};

/**
 * Clones by the address people know: the environment leads git to the gateway. Errors are sentences for the user. A
 * gateway that is away for a moment is waited for.
 */
export async function cloneRepository(clone: Clone): Promise<void> {
  const startedAt = performance.now();
  for (let pauseMs = 250; ; pauseMs = Math.min(2 * pauseMs, 5_000)) {
    await rm(clone.folder, { recursive: true, force: true });
    try {
      return await cloneOnce(clone);
    } catch (failure) {
      if (!(failure instanceof GitFailure)) throw failure;
      const { error, retryMs } = describeGitFailure(failure, clone.repository);
      if (performance.now() - startedAt + pauseMs > retryMs) throw error;
      clone.context.log(`clone of ${clone.repository.name} is tried again: ${error.message}`);
      await delay(pauseMs, null, { signal: clone.signal });
    }
  }
}

async function cloneOnce(clone: Clone): Promise<void> {
  const { branch, url } = clone.repository;
  const checkout = clone.isCheckedOut ? [] : ['--no-checkout'];
  try {
    await runClone(clone, [...checkout, ...(branch === null ? [] : ['--branch', branch]), '--', url]);
  } catch (error) {
    if (branch === null || !isMissingBranch(error) || !(await isEmptyRemote(clone))) throw error;
    // The first commit of an empty repository makes the branch.
    await rm(clone.folder, { recursive: true, force: true });
    await runClone(clone, ['--', url]);
    await openGitFolder(clone).run(['symbolic-ref', 'HEAD', `refs/heads/${branch}`]);
  }
  if (branch !== null && clone.isCheckedOut) await refuseTag(clone, branch);
}

async function runClone({ context, folder, signal }: Clone, args: string[]): Promise<void> {
  await runGit({
    args: [...safeSettings, 'clone', '--quiet', '--no-recurse-submodules', ...args, folder],
    cwd: dirname(folder),
    env: gitEnvironment(context),
    signal,
  });
}

async function isEmptyRemote({ context, folder, repository, signal }: Clone): Promise<boolean> {
  const env = gitEnvironment(context);
  const args = [...safeSettings, 'ls-remote', '--quiet', '--', repository.url];
  return (await runGit({ args, cwd: dirname(folder), env, signal })).length === 0;
}

/** git takes a tag where it was asked for a branch, and leaves HEAD on none. */
async function refuseTag(clone: Clone, branch: string): Promise<void> {
  const git = openGitFolder(clone);
  const head = await git.line(['symbolic-ref', '--quiet', 'HEAD']).catch(() => '');
  if (head !== `refs/heads/${branch}`) throw new GitFailure(`Remote branch ${branch} not found`);
}

/** A folder that may go at any time; whoever has it made moves it to its place when it is whole. */
export function cloneFolder(context: EngineContext, id: string): string {
  return join(clonesFolder(context), id);
}
