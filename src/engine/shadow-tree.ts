import { constants, createWriteStream } from 'node:fs';
import { lstat, open, rm, utimes } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { EngineContext } from './context.ts';
import type { GitFolder } from './git-folder.ts';
import { GitFailure } from './git-process.ts';
import { engineLimits } from './limits.ts';
import { type Candidate, chooseLeftOut } from './shadow-choice.ts';
import { temporaryFile } from './temporary-file.ts';

export type WorkTree = { tree: string; leftOut: Candidate[]; isPartlyUnreadable: boolean };

/**
 * Writes the work tree as it is, with untracked files and without ignored ones, as a tree of the repository. It works on
 * a copy of the index, which carries what git already knows about unchanged files; the index itself stays as it is.
 */
export async function writeWorkTree(git: GitFolder, context: EngineContext): Promise<WorkTree> {
  const indexFile = await temporaryFile(context, 'index');
  try {
    await copyIndex(await findIndex(git), indexFile);
    const leftOut = chooseLeftOut(await listCandidates(git, indexFile), {
      maxFileBytes: engineLimits.shadowBytes,
      maxTotalBytes: totalShare * engineLimits.shadowBytes,
    });
    const isPartlyUnreadable = !(await addEverything(git, { indexFile, leftOut }));
    const tree = await git.line(['write-tree', '--missing-ok'], { indexFile });
    return { tree, leftOut, isPartlyUnreadable };
  } finally {
    await Promise.all([indexFile, `${indexFile}.lock`].map((file) => rm(file, { force: true })));
  }
}

/** Files compress, so that somewhat more than the limit may go into a bundle that keeps to it. */
const totalShare = 4;

async function findIndex(git: GitFolder): Promise<string> {
  const folder = join(git.folder, '.git');
  if ((await lstat(folder).catch(() => null))?.isDirectory()) return join(folder, 'index');
  // A file there says where the repository is.
  return resolve(git.folder, await git.line(['rev-parse', '--git-path', 'index']));
}

async function copyIndex(from: string, to: string): Promise<void> {
  // Anything may lie there; a fifo must not hold up the engine.
  const source = await open(from, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (source === null) return;
  try {
    const status = await source.stat();
    if (!status.isFile()) return;
    await pipeline(
      source.createReadStream({ autoClose: false }),
      createWriteStream(to, { flags: 'wx', mode: 0o600 }),
    );
    // git looks closer at files that are not older than the index; a copy must not look newer than it is.
    await utimes(to, status.atime, new Date(Math.floor(status.mtimeMs) - 1));
  } finally {
    await source.close();
  }
}

async function listCandidates(git: GitFolder, indexFile: string): Promise<Candidate[]> {
  const [untracked, changed] = await Promise.all([
    git.run(['ls-files', '-z', '--others', '--exclude-standard'], { indexFile }),
    git.run(['diff-files', '-z', '--name-only', '--no-ext-diff', '--ignore-submodules=dirty'], { indexFile }),
  ]);
  const candidates: Candidate[] = [];
  for (const [list, isTracked] of [
    [untracked, false],
    [changed, true],
  ] as const) {
    for (const rawPath of list.toString('latin1').split('\0')) {
      if (rawPath === '') continue;
      const isFolder = rawPath.endsWith('/');
      const bytes = isFolder ? 0 : await sizeOf(git.folder, rawPath);
      const path = Buffer.from(rawPath, 'latin1').toString();
      candidates.push({ path, rawPath, bytes, isTracked, isFolder });
    }
  }
  return candidates;
}

async function sizeOf(folder: string, rawPath: string): Promise<number> {
  const name = Buffer.concat([Buffer.from(`${folder}/`), Buffer.from(rawPath, 'latin1')]);
  const status = await lstat(name).catch(() => null);
  return status?.isFile() ? status.size : 0;
}

/** Says whether everything could be read. */
async function addEverything(
  git: GitFolder,
  { indexFile, leftOut }: { indexFile: string; leftOut: readonly Candidate[] },
): Promise<boolean> {
  const excluded = leftOut.map(({ rawPath }) => `:(top,literal,exclude)${rawPath.replace(/\/$/, '')}`);
  const paths = ['.', ...excluded].map((path) => `${path}\0`).join('');
  const args = ['add', '--all', '--ignore-errors', '--pathspec-from-file=-', '--pathspec-file-nul'];
  try {
    await git.run(args, { indexFile, input: Buffer.from(paths, 'latin1') });
    return true;
  } catch (error) {
    if (error instanceof GitFailure && /^error: /m.test(error.stderr)) return false;
    throw error;
  }
}
