import { writeSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GitFolder } from './git-folder.ts';
import { engineLimits } from './limits.ts';

export const SHADOW_REF = 'refs/replica/shadow';
export const BASE_REF = 'refs/replica/base';

/** A commit of the work tree on top of HEAD. The same work gives the same commit; clean work is HEAD itself. */
export async function commitShadow(
  git: GitFolder,
  { tree, head }: { tree: string; head: string | null },
): Promise<string> {
  const isClean = head !== null && (await git.line(['rev-parse', `${head}^{tree}`])) === tree;
  const shadow = isClean ? head : await commitTree(git, { tree, head });
  // Nobody else writes this ref, so that a lock on it was left by a kill.
  await rm(join(git.folder, '.git', `${SHADOW_REF}.lock`), { force: true });
  await git.run(['update-ref', SHADOW_REF, shadow]);
  return shadow;
}

async function commitTree(
  git: GitFolder,
  { tree, head }: { tree: string; head: string | null },
): Promise<string> {
  const parents = head === null ? [] : ['-p', head];
  return git.line(['commit-tree', '-m', 'Uncommitted work', ...parents, tree], { environment: identity });
}

const identity = {
  GIT_AUTHOR_NAME: 'Replica',
  GIT_AUTHOR_EMAIL: 'replica@localhost',
  GIT_AUTHOR_DATE: '@0 +0000',
  GIT_COMMITTER_NAME: 'Replica',
  GIT_COMMITTER_EMAIL: 'replica@localhost',
  GIT_COMMITTER_DATE: '@0 +0000',
};

/**
 * Writes everything that the shadow needs and the base does not have into a file, and returns its size: 0 when nothing is
 * needed, null when it is larger than what is kept outside.
 */
export async function writeBundle(
  git: GitFolder,
  { shadow, head, base, file }: Record<'head' | 'base', string | null> & Record<'shadow' | 'file', string>,
): Promise<number | null> {
  const excluded = base === null ? [] : [`^${base}`];
  // git makes no bundle without anything in it; uncommitted work is always something.
  const isNeeded = shadow !== head || (await git.line(['rev-list', '-n1', shadow, ...excluded])) !== '';
  const target = await open(file, 'wx', 0o600);
  let size = 0;
  try {
    if (!isNeeded) return 0;
    await git.run(['bundle', 'create', '--quiet', '-', SHADOW_REF, ...excluded], {
      take(chunk) {
        size += chunk.length;
        if (size > engineLimits.shadowBytes) return false;
        writeSync(target.fd, chunk);
        return true;
      },
    });
  } finally {
    await target.close();
  }
  if (size <= engineLimits.shadowBytes) return size;
  await rm(file, { force: true });
  return null;
}
