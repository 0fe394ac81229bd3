import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { tryLockFile } from '../lib/folder-lock.ts';
import { folderBytes } from './cache.ts';
import {
  isAbsent,
  lockFolder,
  type MirrorPlace,
  markedAt,
  mirrorsFolder,
  placeNamed,
  readState,
  repositoryName,
} from './mirror-state.ts';
import type { Runner } from './runner.ts';

type SweepOptions = {
  cacheDir: string;
  run: Runner;
  maxTotalBytes: number;
  now: () => number;
  signal: AbortSignal;
};

/** Longer than one client is served, so nobody reads a repository that was last asked for before that. */
const inUseMs = 2 * 60 * 60_000;
const unusedMs = 14 * 24 * 60 * 60_000;
/** Each fetch adds a pack, and each pack makes every look for an object slower. */
const maxPacks = 20;

/** Mirrors that another process is working on are passed over until the next sweep. */
export async function sweepMirrors(options: SweepOptions): Promise<void> {
  const root = mirrorsFolder(options.cacheDir);
  await mkdir(lockFolder(options.cacheDir), { recursive: true, mode: 0o700 });
  const kept: { place: MirrorPlace; usedAt: number; bytes: number }[] = [];
  for (const name of await names(root)) {
    options.signal.throwIfAborted();
    if (!/^[0-9a-f]{64}$/.test(name)) {
      await rm(join(root, name), { recursive: true, force: true });
      continue;
    }
    const place = placeNamed(options.cacheDir, name);
    const usedAt = await lastUse(place);
    if (options.now() - usedAt > unusedMs) await remove({ place, usedAt }, options);
    else {
      await locked(place, () => tidy(place, options));
      kept.push({ place, usedAt, bytes: await folderBytes(place.folder) });
    }
  }
  kept.sort((a, b) => a.usedAt - b.usedAt);
  let total = kept.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { place, usedAt, bytes } of kept) {
    if (total <= options.maxTotalBytes || options.now() - usedAt <= inUseMs) break;
    await remove({ place, usedAt }, options);
    total -= bytes;
  }
}

async function remove(
  { place, usedAt }: { place: MirrorPlace; usedAt: number },
  { cacheDir }: SweepOptions,
): Promise<void> {
  await locked(place, async () => {
    if ((await lastUse(place)) !== usedAt) return;
    // It leaves its place in one step, so that nobody meets half of it.
    const away = join(mirrorsFolder(cacheDir), randomUUID());
    await rename(place.folder, away);
    await rm(away, { recursive: true, force: true });
  });
}

/** Removes repositories that were replaced or never finished, and puts many packs together. */
async function tidy(place: MirrorPlace, { run, now, signal }: SweepOptions): Promise<void> {
  const state = await readState(place);
  for (const name of await names(place.folder)) {
    const isLeft =
      name !== state?.repository && (repositoryName.test(name) || name.startsWith('state.json.'));
    const path = join(place.folder, name);
    if (isLeft && now() - (await changedAt(path)) > inUseMs) await rm(path, { recursive: true, force: true });
  }
  if (state === null) return;
  const gitDir = join(place.folder, state.repository);
  const packs = (await names(join(gitDir, 'objects', 'pack'))).filter((name) => name.endsWith('.pack'));
  if (packs.length > maxPacks) await run({ args: ['repack', '-a', '-d', '-q'], gitDir, signal });
}

async function locked(place: MirrorPlace, work: () => Promise<void>): Promise<void> {
  const unlock = tryLockFile(place.lockFile);
  if (!unlock) return;
  try {
    await work();
  } finally {
    unlock();
  }
}

async function lastUse(place: MirrorPlace): Promise<number> {
  return (await markedAt(place, 'used')) || (await changedAt(place.folder));
}

async function names(folder: string): Promise<string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (isAbsent(error)) return [];
    throw error;
  });
}

async function changedAt(path: string): Promise<number> {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    if (isAbsent(error)) return 0;
    throw error;
  }
}
