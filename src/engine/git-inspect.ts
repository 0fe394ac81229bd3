import { join } from 'node:path';
import type { EngineContext } from './context.ts';
import { readDiff } from './diff.ts';
import { isCommit } from './git-bases.ts';
import { type GitFolder, openGitFolder } from './git-folder.ts';
import { GitFailure } from './git-process.ts';
import type { BootRepository, RepositoryState } from './protocol.ts';
import { describeLeftOut, diffLeftOut } from './shadow-choice.ts';
import { writeWorkTree } from './shadow-tree.ts';

export type Inspection = {
  state: RepositoryState;
  /** Null when there is no repository to look at. */
  found: { git: GitFolder; tree: string } | null;
};

/**
 * How one repository stands against its base. Whatever the agent made of it, there is an answer: where the history was
 * replaced there is no base to compare with, and everything counts as new.
 */
export async function inspectRepository(options: {
  context: EngineContext;
  repository: BootRepository;
  base: string | null;
  signal: AbortSignal;
}): Promise<Inspection> {
  const { context, repository, base, signal } = options;
  const git = openGitFolder({ context, folder: repositoryFolder(context, repository), signal });
  const state: RepositoryState = {
    id: repository.id,
    branch: null,
    head: null,
    baseCommit: base,
    added: 0,
    removed: 0,
    diff: '',
    isDiffCut: false,
    shadowProblem: null,
  };
  try {
    const commits = readCommits(git, ['HEAD', ...(base === null ? [] : [base])]);
    const [branch, [head = null, baseCommit = null]] = await Promise.all([readBranch(git), commits]);
    Object.assign(state, { branch, head, baseCommit });
    const { tree, leftOut, isPartlyUnreadable } = await writeWorkTree(git, context);
    Object.assign(state, await readDiff(git, { base: state.baseCommit, tree }));
    if (!state.isDiffCut) state.diff += diffLeftOut(leftOut);
    state.shadowProblem = describeLeftOut(leftOut) ?? (isPartlyUnreadable ? unreadable : null);
    return { state, found: { git, tree } };
  } catch (error) {
    context.log(`repository ${repository.name} cannot be read: ${String(error)}`);
    if (signal.aborted) return { state: { ...state, isDiffCut: true, shadowProblem: slow }, found: null };
    const isGone = error instanceof GitFailure && gone.test(error.stderr);
    const { name } = repository;
    return { state: { ...state, shadowProblem: isGone ? notGit(name) : broken(name) }, found: null };
  }
}

export function repositoryFolder(context: EngineContext, { name }: Pick<BootRepository, 'name'>): string {
  return join(context.home, 'workspaces', name);
}

/** The commit a name stands for, or null. */
export async function readCommit(git: GitFolder, name: string): Promise<string | null> {
  const [commit = null] = await readCommits(git, [name]);
  return commit;
}

async function readCommits(git: GitFolder, names: string[]): Promise<(string | null)[]> {
  const input = names.map((name) => `${name}^{commit}\n`).join('');
  const lines = await git.line(['cat-file', '--batch-check=%(objectname)'], { input });
  return lines.split('\n').map((line) => (isCommit(line) ? line : null));
}

async function readBranch(git: GitFolder): Promise<string | null> {
  try {
    const ref = await git.line(['symbolic-ref', '--quiet', 'HEAD']);
    return ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length, maxBranchCharacters) : null;
  } catch (error) {
    // Where git fails without a word, HEAD is on no branch; with a word, something is wrong.
    if (error instanceof GitFailure && error.stderr === '') return null;
    throw error;
  }
}

const maxBranchCharacters = 1_000;

const unreadable = 'Not all uncommitted work can be kept outside: some files cannot be read.';
const slow = 'The repository is too large to be read in time; its uncommitted work is not kept outside.';

const gone = /not a git repository|could not be started/;

function notGit(name: string): string {
  return `The folder ~/workspaces/${name} is not a git repository any more; its content is not kept outside.`;
}

function broken(name: string): string {
  return `The repository in ~/workspaces/${name} cannot be read; its uncommitted work is not kept outside.`;
}
