import { createDiffReader, type Diff } from './diff-text.ts';
import type { GitFolder } from './git-folder.ts';
import { engineLimits } from './limits.ts';

/** The change from one commit to a tree; from nothing when the commit is null. */
export async function readDiff(git: GitFolder, change: { base: string | null; tree: string }): Promise<Diff> {
  const from = change.base ?? (await git.line(['hash-object', '-t', 'tree', '--stdin']));
  const reader = createDiffReader({ maxCharacters: engineLimits.diffCharacters });
  await git.run([...command, from, change.tree], { take: reader.take });
  return reader.end();
}

/** Trees are compared by plumbing, which keeps to its own format whatever the repository's configuration says. */
const command = [
  'diff-tree',
  '-r',
  '--numstat',
  '--patch',
  '--find-renames',
  '-l400',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--submodule=short',
  '--src-prefix=a/',
  '--dst-prefix=b/',
];
