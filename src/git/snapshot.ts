import { folderBytes } from './cache.ts';
import { GitError } from './failure.ts';
import type { CheckedRemote } from './remote.ts';
import type { Runner } from './runner.ts';
import { parseTree, type TreeListing } from './tree-listing.ts';

type FetchOptions = {
  run: Runner;
  remote: CheckedRemote;
  folder: string;
  /** `refs/heads/…`, or `HEAD`. */
  ref: string;
  objectFormat: 'sha1' | 'sha256';
  maxBytes: number;
  signal: AbortSignal;
};

/** Makes a bare repository in `folder` that holds the newest commit of one ref, and returns that commit. */
export async function fetchSnapshot(options: FetchOptions): Promise<string> {
  const { run, remote, folder, ref, objectFormat, signal } = options;
  await run({
    args: ['init', '--quiet', '--bare', '--template=', `--object-format=${objectFormat}`, folder],
    signal,
  });
  const watch = watchBytes(options);
  try {
    await run({
      args: [
        'fetch',
        '--quiet',
        '--depth=1',
        '--no-tags',
        '--no-recurse-submodules',
        '--no-write-fetch-head',
        '--no-auto-maintenance',
        '--end-of-options',
        remote.url,
        `+${ref}:${heldRef}`,
      ],
      remote,
      gitDir: folder,
      signal: AbortSignal.any([signal, watch.signal]),
    });
  } catch (error) {
    // The kernel stops git's helper at the limit, and git itself cannot say why it ended.
    throw (await folderBytes(folder)) >= options.maxBytes ? tooLarge(options.maxBytes) : error;
  } finally {
    watch.stop();
  }
  if ((await folderBytes(folder)) > options.maxBytes) throw tooLarge(options.maxBytes);
  const commit = await run({
    args: ['rev-parse', '--verify', `${heldRef}^{commit}`],
    gitDir: folder,
    signal,
  });
  return commit.toString('latin1').trim();
}

export async function listSnapshot(options: {
  run: Runner;
  folder: string;
  commit: string;
  maxEntries: number;
  signal: AbortSignal;
}): Promise<TreeListing> {
  const output = await options.run({
    args: ['ls-tree', '-r', '-l', '-z', '--full-tree', options.commit],
    gitDir: options.folder,
    signal: options.signal,
    // Far above what paths of a usual length need; a tree that names itself many times over meets it soon.
    maxOutputBytes: options.maxEntries * 512,
  });
  return parseTree(output, { maxEntries: options.maxEntries });
}

function tooLarge(maxBytes: number): GitError {
  const mebibytes = Math.floor(maxBytes / 1_048_576);
  return new GitError(
    'too_large',
    `The repository is larger than the ${mebibytes} MiB that this service takes.`,
  );
}

const heldRef = 'refs/heads/snapshot';
const watchEveryMs = 100;

/** The kernel limits each file; this limits all files together while they grow. */
function watchBytes({ folder, maxBytes }: FetchOptions): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController();
  let busy = false;
  const look = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    if ((await folderBytes(folder)) > maxBytes) controller.abort(tooLarge(maxBytes));
    busy = false;
  };
  const timer = setInterval(() => look().catch((error: unknown) => controller.abort(error)), watchEveryMs);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}
