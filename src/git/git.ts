import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Lookup } from '../lib/address-guard.ts';
import { createCache } from './cache.ts';
import { withDeadline } from './deadline.ts';
import { GitError, type GitErrorKind } from './failure.ts';
import { isGitHost } from './probe.ts';
import { isBranchName, parseRefs, type RemoteRefs } from './refs.ts';
import { type CheckedRemote, checkRemote, type GitRemote } from './remote.ts';
import { createRunner } from './runner.ts';
import { createSerial } from './serial.ts';
import { fetchSnapshot, listSnapshot } from './snapshot.ts';
import type { TreeEntry, TreeListing } from './tree-listing.ts';

/**
 * Reads other people's repositories with the real git, which talks to hosts that may send anything.
 *
 * git sees no configuration but ours, speaks one protocol to the addresses that were checked, follows no redirect,
 * and never checks out a work tree, so no hook, filter, link or submodule of a repository acts. Time, memory, disk
 * and output are limited. A credential exists in the environment of git's processes only.
 */
export type Git = {
  /** Asks the remote which branches it has. */
  inspect(remote: GitRemote, signal?: AbortSignal): Promise<RemoteRefs>;
  /** The files of one branch, by default the remote's own default branch. Fetches only when the head is a new one. */
  tree(remote: GitRemote, options?: { branch?: string; signal?: AbortSignal }): Promise<GitTree>;
};

export type GitTree = {
  commit: string;
  /** `HEAD` when the remote's head is on no branch. */
  branch: string;
  entries: TreeEntry[];
  /** The content of a plain file; links are not followed. The signal given for the tree ends this too. */
  read(path: string, maxBytes: number): Promise<Buffer>;
};

export type GitOptions = {
  /** Belongs to git alone; several processes may share it. */
  cacheDir: string;
  allowPrivateTargets: boolean;
  /** For one call as a whole. */
  timeoutMs?: number;
  /** For one fetched snapshot on disk. */
  maxBytes?: number;
  maxEntries?: number;
  /** For all snapshots together; those in use are kept even beyond it. */
  maxCacheBytes?: number;
  lookup?: Lookup;
  now?: () => number;
};

const mebibyte = 1_048_576;

export function createGit(options: GitOptions): Git {
  const {
    allowPrivateTargets,
    lookup,
    timeoutMs = 120_000,
    maxBytes = 512 * mebibyte,
    maxEntries = 200_000,
  } = options;
  const cacheDir = resolve(options.cacheDir);
  const run = createRunner({ cacheDir, maxBytes });
  const cache = createCache({
    root: cacheDir,
    maxTotalBytes: options.maxCacheBytes ?? 8 * maxBytes,
    now: options.now ?? Date.now,
  });
  const inTurn = createSerial();

  async function ask(
    remote: GitRemote,
    signal: AbortSignal,
  ): Promise<{ checked: CheckedRemote; refs: RemoteRefs }> {
    await mkdir(cacheDir, { recursive: true, mode: 0o700 });
    const checked = await checkRemote(remote, { cacheDir, allowPrivateTargets, lookup, signal });
    try {
      return { checked, refs: await listRefs(checked, signal) };
    } catch (error) {
      // Some hosts redirect from the address of a repository's page to the same one with `.git`.
      if (kindOf(error) !== 'refused' || checked.url.endsWith('.git')) throw error;
      const suffixed = { ...checked, url: `${checked.url}.git` };
      const refs = await listRefs(suffixed, signal).catch((second: unknown) => {
        throw kindOf(second) === 'not_found' ? error : second;
      });
      return { checked: suffixed, refs };
    }
  }

  async function listRefs(checked: CheckedRemote, signal: AbortSignal): Promise<RemoteRefs> {
    const output = await run({
      args: ['ls-remote', '--symref', '--end-of-options', checked.url, 'HEAD', 'refs/heads/*'],
      remote: checked,
      signal,
      maxOutputBytes: 16 * mebibyte,
      maxMemoryBytes: 512 * mebibyte,
    });
    const refs = parseRefs(output.toString());
    // For `ls-remote` any web page is a repository without branches.
    if (isEmpty(refs) && !(await isGitHost(checked, signal))) {
      throw new GitError('not_found', 'The server at this URL does not answer like a git host.');
    }
    return refs;
  }

  async function snapshot(wanted: Wanted & { checked: CheckedRemote; signal: AbortSignal }): Promise<Held> {
    const { checked, branch, signal } = wanted;
    const list = (folder: string, commit: string) =>
      listSnapshot({ run, folder, commit, maxEntries, signal });
    const place = { url: checked.url, branch, commit: wanted.commit };
    const found = await cache.find(place);
    if (found !== null) {
      try {
        return { folder: found, commit: wanted.commit, listing: await list(found, wanted.commit) };
      } catch (error) {
        if (kindOf(error) !== 'failed') throw error;
        // A power cut may leave a snapshot without its content; it is fetched again.
        await cache.discard(found);
      }
    }
    const held = await cache.build(async (folder) => {
      const objectFormat = wanted.commit.length === 64 ? 'sha256' : 'sha1';
      const ref = branch === 'HEAD' ? 'HEAD' : `refs/heads/${branch}`;
      const commit = await fetchSnapshot({
        run,
        remote: checked,
        folder,
        ref,
        objectFormat,
        maxBytes,
        signal,
      });
      // Listed before it is placed, so that nothing unreadable enters the cache.
      const listing = await list(folder, commit);
      return { commit, listing, folder: await cache.place(folder, { ...place, commit }) };
    });
    await cache.sweep();
    return held;
  }

  async function read(held: Held, { path, maxBytes, signal }: ReadOptions): Promise<Buffer> {
    const entry = held.listing.records.get(path);
    if (entry === undefined) throw new GitError('not_found', `The repository has no file ${path}.`);
    if (entry.kind !== 'file') throw new GitError('refused', `${path} is a ${entry.kind}, not a plain file.`);
    if (entry.size > maxBytes) throw new GitError('too_large', `${path} has more than ${maxBytes} bytes.`);
    try {
      return await withDeadline({ signal, timeoutMs }, (signal) =>
        run({
          args: ['cat-file', 'blob', entry.object],
          gitDir: held.folder,
          signal,
          maxOutputBytes: maxBytes,
        }),
      );
    } catch (error) {
      // What cannot be read now cannot be read later either, unless it is fetched again.
      if (kindOf(error) === 'failed') await cache.discard(held.folder);
      throw error;
    }
  }

  return {
    inspect: (remote, signal) =>
      withDeadline({ signal, timeoutMs }, async (signal) => (await ask(remote, signal)).refs),

    async tree(remote, { branch, signal } = {}) {
      const held = await withDeadline({ signal, timeoutMs }, async (signal) => {
        const { checked, refs } = await ask(remote, signal);
        const wanted = choose(refs, branch);
        const key = `${checked.url}\0${wanted.branch}`;
        const found = await inTurn({ key, signal, work: () => snapshot({ ...wanted, checked, signal }) });
        return { ...found, branch: wanted.branch };
      });
      return {
        commit: held.commit,
        branch: held.branch,
        entries: held.listing.entries,
        read: (path, maxBytes) => read(held, { path, maxBytes, signal }),
      };
    },
  };
}

type Wanted = { branch: string; commit: string };
type Held = { folder: string; commit: string; listing: TreeListing };
type ReadOptions = { path: string; maxBytes: number; signal: AbortSignal | undefined };

function kindOf(error: unknown): GitErrorKind | null {
  return error instanceof GitError ? error.kind : null;
}

function isEmpty(refs: RemoteRefs): boolean {
  return refs.branches.size === 0 && refs.headCommit === null;
}

function choose(refs: RemoteRefs, branch: string | undefined): Wanted {
  if (isEmpty(refs)) {
    throw new GitError('empty', 'The repository is empty: it has no commit yet.');
  }
  const name = branch ?? refs.defaultBranch;
  if (name === null) {
    if (refs.headCommit !== null) return { branch: 'HEAD', commit: refs.headCommit };
    throw new GitError('missing_branch', 'The repository has no default branch; name the branch to use.');
  }
  const commit = refs.branches.get(name);
  if (commit === undefined) {
    const shown = isBranchName(name) ? `the branch ${name}` : 'a branch of this name';
    throw new GitError('missing_branch', `The repository does not have ${shown}.`);
  }
  return { branch: name, commit };
}
