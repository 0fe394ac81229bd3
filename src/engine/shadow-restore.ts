import { rm, writeFile } from 'node:fs/promises';
import type { EngineContext } from './context.ts';
import { type GitFolder, openGitFolder } from './git-folder.ts';
import { readCommit } from './git-inspect.ts';
import { GitFailure } from './git-process.ts';
import type { BootRepository } from './protocol.ts';
import { untilAnswered } from './shadow.ts';
import { BASE_REF, SHADOW_REF } from './shadow-bundle.ts';
import { readShadowHeaders, type ShadowHead } from './shadow-head.ts';

export type KeptShadow = { head: ShadowHead; bundle: Buffer };

/** What the gateway keeps of a repository, or null. */
export async function fetchShadow(
  context: EngineContext,
  { repository, signal }: { repository: BootRepository; signal: AbortSignal },
): Promise<KeptShadow | null> {
  const request = { method: 'GET', path: `/engine/shadow/${repository.id}`, signal };
  const { status, headers, body } = await untilAnswered(context, () => request);
  if (status === 404) return null;
  const head = status === 200 ? readShadowHeaders(headers) : null;
  if (head === null) throw new Error(`The kept work of the repository ${repository.name} cannot be read.`);
  return { head, bundle: body };
}

/** Puts kept work back into a fresh clone without a work tree: commits, branch, and what was not committed. */
export async function restoreShadow(options: {
  context: EngineContext;
  repository: BootRepository;
  folder: string;
  kept: KeptShadow;
  signal: AbortSignal;
}): Promise<void> {
  const { context, repository, folder, kept, signal } = options;
  const git = openGitFolder({ context, folder, signal });
  const { base, head, shadow } = kept.head;
  try {
    if (base !== null) await fetchMissingBase(git, base);
    if (kept.bundle.length > 0) await unbundle(git, kept.bundle);
    await git.run(['update-ref', SHADOW_REF, shadow]);
    if (base !== null) await git.run(['update-ref', BASE_REF, base]);
    await restoreHead(git, kept.head);
    await git.run(['read-tree', '--reset', '-u', shadow]);
    await resetIndex(git, head);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const cause = new Error(error.stderr.slice(-4_096));
    throw new Error(
      `The kept work of the repository ${repository.name} cannot be put back: the repository does not have what it was made from any more.`,
      { cause },
    );
  }
}

/** A branch that was rewritten since may not lead to the base, which the host often still has. */
async function fetchMissingBase(git: GitFolder, base: string): Promise<void> {
  if ((await readCommit(git, base)) !== null) return;
  await git.run(['fetch', '--quiet', '--no-tags', '--no-recurse-submodules', 'origin', base]);
}

async function unbundle(git: GitFolder, bundle: Buffer): Promise<void> {
  const file = `${git.folder}.bundle`;
  await rm(file, { recursive: true, force: true });
  await writeFile(file, bundle, { flag: 'wx', mode: 0o600 });
  try {
    await git.run(['bundle', 'unbundle', file]);
  } finally {
    await rm(file, { force: true });
  }
}

async function restoreHead(git: GitFolder, { head, branch }: ShadowHead): Promise<void> {
  if (branch === null) {
    if (head !== null) await git.run(['update-ref', '--no-deref', 'HEAD', head]);
    return;
  }
  await git.run(['check-ref-format', `refs/heads/${branch}`]);
  if (head !== null) await git.run(['update-ref', `refs/heads/${branch}`, head]);
  await git.run(['symbolic-ref', 'HEAD', `refs/heads/${branch}`]);
  if ((await readCommit(git, `refs/remotes/origin/${branch}`)) === null) return;
  await git.run(['branch', '--quiet', `--set-upstream-to=origin/${branch}`]);
}

/** Uncommitted work is uncommitted again: the index says what HEAD says. */
async function resetIndex(git: GitFolder, head: string | null): Promise<void> {
  await git.run(head === null ? ['read-tree', '--empty'] : ['read-tree', '--reset', head]);
  // Its exit status says whether something differs, which is expected.
  await git.run(['update-index', '-q', '--refresh']).catch((error: unknown) => {
    if (!(error instanceof GitFailure)) throw error;
  });
}
