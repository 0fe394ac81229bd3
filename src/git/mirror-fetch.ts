import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { folderBytes } from './cache.ts';
import { GitError } from './failure.ts';
import { type MirrorRefs, maxRefBytes } from './mirror-refs.ts';
import type { CheckedRemote } from './remote.ts';
import type { Runner } from './runner.ts';

type FetchOptions = {
  run: Runner;
  /** The bare repository. Nobody else writes it meanwhile. */
  folder: string;
  remote: CheckedRemote;
  offer: MirrorRefs;
  maxBytes: number;
  signal: AbortSignal;
};

/** A commit that HEAD alone leads to is kept under this name, which is not shown to clients. */
export const hiddenRefs = 'refs/replica';
const headRef = `${hiddenRefs}/head`;

/** A file for each of thousands of branches would make every look at them slow. */
const maxLooseRefs = 100;

/** Makes a bare repository with all branches and tags of the remote. */
export async function buildMirror(options: FetchOptions): Promise<void> {
  const { run, folder, offer, signal } = options;
  const some = offer.refs.values().next().value ?? offer.head ?? '';
  const objectFormat = some.length === 64 ? 'sha256' : 'sha1';
  const branch = offer.head?.startsWith(branchPrefix) ? offer.head.slice(branchPrefix.length) : 'main';
  await run({
    args: [
      'init',
      '--quiet',
      '--bare',
      '--template=',
      `--object-format=${objectFormat}`,
      `--initial-branch=${branch}`,
      folder,
    ],
    signal,
  });
  if (some !== '') await fetchRefs(options);
  await setHead(options);
  if (offer.refs.size > maxLooseRefs) await run({ args: ['pack-refs', '--all'], gitDir: folder, signal });
}

/** Brings a bare repository up to what the remote offers; fetches only when they differ. */
export async function updateMirror(options: FetchOptions): Promise<void> {
  const { folder, offer } = options;
  const isHeadHeld = !isDetached(offer) || (await isHead(folder, offer.head));
  if (!isHeadHeld || !isSame(await localRefs(options), offer.refs)) await fetchRefs(options);
  await setHead(options);
}

const branchPrefix = 'ref: refs/heads/';

function isDetached(offer: MirrorRefs): offer is MirrorRefs & { head: string } {
  return offer.head !== null && !offer.head.startsWith('ref: ');
}

async function localRefs({ run, folder, signal }: FetchOptions): Promise<Map<string, string>> {
  const output = await run({
    args: ['for-each-ref', '--format=%(refname)%09%(objectname)', 'refs/heads', 'refs/tags'],
    gitDir: folder,
    signal,
    maxOutputBytes: maxRefBytes,
  });
  const lines = output.toString().split('\n').filter(Boolean);
  return new Map(lines.map((line) => line.split('\t', 2) as [string, string]));
}

function isSame(left: Map<string, string>, right: Map<string, string>): boolean {
  return left.size === right.size && [...left].every(([name, object]) => right.get(name) === object);
}

async function fetchRefs(options: FetchOptions): Promise<void> {
  const { run, folder, remote, offer, maxBytes, signal } = options;
  await removeRemains(folder);
  const watch = watchBytes(options);
  try {
    await run({
      args: [
        'fetch',
        '--quiet',
        '--prune',
        '--no-tags',
        '--no-recurse-submodules',
        '--no-write-fetch-head',
        '--no-auto-maintenance',
        '--end-of-options',
        remote.url,
        '+refs/heads/*:refs/heads/*',
        '+refs/tags/*:refs/tags/*',
        ...(isDetached(offer) ? [`+HEAD:${headRef}`] : []),
      ],
      // A host that counts the objects of a large repository says next to nothing for minutes.
      remote: { ...remote, settings: [...remote.settings, ['http.lowSpeedTime', '300']] },
      gitDir: folder,
      signal: AbortSignal.any([signal, watch.signal]),
    });
  } catch (error) {
    // The kernel stops git's helper at the limit, and git itself cannot say why it ended.
    const isFull = (await folderBytes(join(folder, 'objects'))) >= maxBytes;
    await removeRemains(folder);
    throw isFull || watch.signal.aborted ? tooLarge(maxBytes) : error;
  } finally {
    watch.stop();
  }
  if ((await folderBytes(join(folder, 'objects'))) > maxBytes) throw tooLarge(maxBytes);
}

async function setHead({ run, folder, offer, signal }: FetchOptions): Promise<void> {
  const { head } = offer;
  if (head === null || (await isHead(folder, head))) return;
  const args = head.startsWith('ref: ')
    ? ['symbolic-ref', 'HEAD', head.slice('ref: '.length)]
    : ['update-ref', '--no-deref', 'HEAD', head];
  await run({ args, gitDir: folder, signal });
}

async function isHead(folder: string, head: string): Promise<boolean> {
  const text = await readFile(join(folder, 'HEAD'), 'utf8').catch(() => '');
  return text.trim() === head;
}

/** What a killed git leaves: packs that were on their way, and locks that would stop the next one. */
async function removeRemains(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const remains = entries.filter(
    ({ name, parentPath }) =>
      name.endsWith('.lock') || (name.startsWith('tmp_') && parentPath.startsWith(join(folder, 'objects'))),
  );
  for (const { name, parentPath } of remains)
    await rm(join(parentPath, name), { recursive: true, force: true });
}

function tooLarge(maxBytes: number): GitError {
  const mebibytes = Math.floor(maxBytes / 1_048_576);
  return new GitError(
    'too_large',
    `The repository is larger than the ${mebibytes} MiB that this service takes.`,
  );
}

const watchEveryMs = 500;

/** The kernel limits each file; this limits all files together while they grow. */
function watchBytes({ folder, maxBytes }: FetchOptions): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController();
  let isBusy = false;
  const look = async (): Promise<void> => {
    if (isBusy) return;
    isBusy = true;
    if ((await folderBytes(join(folder, 'objects'))) >= maxBytes) controller.abort(tooLarge(maxBytes));
    isBusy = false;
  };
  const timer = setInterval(() => look().catch((error: unknown) => controller.abort(error)), watchEveryMs);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}
