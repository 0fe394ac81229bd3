import { cp, lstat, mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { coalesce } from './coalesce.ts';
import type { EngineContext } from './context.ts';
import { fitStates } from './diff-fit.ts';
import { openBases } from './git-bases.ts';
import { cloneFolder, cloneRepository } from './git-clone.ts';
import { describeGitFailure } from './git-failure.ts';
import { openGitFolder } from './git-folder.ts';
import { type Inspection, inspectRepository, readCommit, repositoryFolder } from './git-inspect.ts';
import { GitFailure } from './git-process.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import type { BootRepository, RepositoryState } from './protocol.ts';
import { describeAside, setAside } from './set-aside.ts';
import { createShadows } from './shadow.ts';
import { BASE_REF } from './shadow-bundle.ts';
import { fetchShadow, restoreShadow } from './shadow-restore.ts';
import { removeTemporaryFiles } from './temporary-file.ts';

export type Repositories = {
  /** Makes the repository's folder unless it is there. Errors are sentences for the user. */
  prepare(repository: BootRepository, signal: AbortSignal): Promise<'cloned' | 'kept' | 'restored'>;
  /** How each repository stands against the commit it began with. */
  states(): Promise<RepositoryState[]>;
  /** Copies states and uncommitted work out; fails when the gateway did not take the work in time. */
  capture(): Promise<RepositoryState[]>;
};

export function createRepositories(context: EngineContext): Repositories {
  removeTemporaryFiles(context);
  const bases = openBases(context);
  const keepShadow = createShadows(context);
  /** What the last capture said, so that a look at the states says it too. */
  const problems = new Map<string, string | null>();

  async function prepare(repository: BootRepository, signal: AbortSignal) {
    const folder = repositoryFolder(context, repository);
    if (await exists(join(folder, '.git'))) {
      await rememberBase(repository, signal);
      return 'kept';
    }
    try {
      return await make({ repository, folder, signal });
    } catch (error) {
      throw error instanceof GitFailure ? describeGitFailure(error, repository).error : error;
    }
  }

  async function make({ repository, folder, signal }: Making): Promise<'cloned' | 'restored'> {
    const clone = cloneFolder(context, repository.id);
    makeOwnFolder(dirname(clone));
    await mkdir(dirname(folder), { recursive: true });
    const kept = repository.restore ? await fetchShadow(context, { repository, signal }) : null;
    // The branch may be gone by the time a disk is lost; the kept work knows its own.
    const wanted = kept === null ? repository : { ...repository, branch: null };
    const isCheckedOut = kept === null;
    await cloneRepository({ context, repository: wanted, folder: clone, isCheckedOut, signal });
    const git = openGitFolder({ context, folder: clone, signal });
    if (kept !== null) await restoreShadow({ context, repository, folder: clone, kept, signal });
    const base = kept === null ? await readCommit(git, 'HEAD') : kept.head.base;
    if (base !== null) await git.run(['update-ref', BASE_REF, base]);
    await moveIntoPlace({ context, clone, folder });
    bases.set(repository.id, base);
    return kept === null ? 'cloned' : 'restored';
  }

  /** A kill may come between a clone and the note of its base; the clone carries it too. */
  async function rememberBase(repository: BootRepository, signal: AbortSignal): Promise<void> {
    if (bases.get(repository.id) !== undefined) return;
    // Anything in the repository may be a fifo by now.
    const limit = AbortSignal.any([signal, AbortSignal.timeout(rememberMs)]);
    const git = openGitFolder({ context, folder: repositoryFolder(context, repository), signal: limit });
    const base = await readCommit(git, BASE_REF).catch(() => null);
    bases.set(repository.id, base ?? (await readCommit(git, 'HEAD').catch(() => null)));
  }

  async function inspect(repository: BootRepository): Promise<Inspection> {
    const base = bases.get(repository.id) ?? null;
    const signal = AbortSignal.timeout(inspectionMs);
    return inspectRepository({ context, repository, base, signal });
  }

  async function capture(): Promise<RepositoryState[]> {
    const failures: unknown[] = [];
    const states: RepositoryState[] = [];
    // One after the other: each may take memory, and there are few.
    for (const repository of context.repositories()) {
      const inspection = await inspect(repository);
      const { state } = inspection;
      const signal = AbortSignal.timeout(uploadMs);
      try {
        state.shadowProblem = await keepShadow(inspection, signal);
      } catch (error) {
        // What git cannot do it cannot do the next time either; a gateway that is away may be back by then.
        if (signal.aborted) failures.push(error);
        context.log(`the work of ${repository.name} was not kept: ${String(error)}`);
        state.shadowProblem = 'The uncommitted work could not be copied out of the workspace.';
      }
      problems.set(state.id, state.shadowProblem);
      states.push(state);
    }
    await context.report({ type: 'repositories.changed', payload: { repositories: fitStates(states) } });
    if (failures.length > 0)
      throw new Error('Not all uncommitted work could be copied out.', { cause: failures[0] });
    return states;
  }

  return {
    prepare,
    capture: coalesce(capture),
    async states() {
      const states: RepositoryState[] = [];
      for (const repository of context.repositories()) {
        const { state } = await inspect(repository);
        states.push({ ...state, shadowProblem: problems.get(state.id) ?? state.shadowProblem });
      }
      return states;
    },
  };
}

type Making = { repository: BootRepository; folder: string; signal: AbortSignal };

const rememberMs = 10_000;
const inspectionMs = 60_000;
const uploadMs = 60_000;

/** A clone appears whole or not at all. What is in the folder already stays, and counts as uncommitted work. */
async function moveIntoPlace({ context, clone, folder }: Moving): Promise<void> {
  try {
    return await rename(clone, folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR') {
      const name = join('~', relative(context.home, folder));
      context.warn(`${name} was no folder. ${describeAside(setAside(folder))}`);
      return rename(clone, folder);
    }
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
  }
  const git = join(clone, '.git');
  const isFile = (source: string) => source !== git;
  try {
    await cp(clone, folder, { recursive: true, force: false, verbatimSymlinks: true, filter: isFile });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A folder where a file belongs, or the other way round, is uncommitted work too.
    if (!code?.startsWith('ERR_FS_CP')) throw error;
    context.log(`${folder} is left as it is: ${String(error)}`);
  }
  await rename(git, join(folder, '.git'));
  await rm(clone, { recursive: true, force: true });
}

type Moving = { context: EngineContext; clone: string; folder: string };

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
