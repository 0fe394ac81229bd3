import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Snapshots on disk: `snapshots/<hash of url and branch>/<commit>` is a bare repository that holds one commit.
 *
 * A snapshot is made in `incoming/` and moved into place whole, and it is never changed afterwards. So any number of
 * processes share one cache without a lock: a snapshot that can be seen is complete, and who loses the race to place
 * one uses the winner's.
 */
type Cache = {
  /** The folder of a complete snapshot, marked as used; null when there is none. */
  find(place: SnapshotPlace): Promise<string | null>;
  /** Runs `make` on a path where it may build a snapshot; what is left there afterwards is removed. */
  build<T>(make: (folder: string) => Promise<T>): Promise<T>;
  /** Moves a built snapshot into place and returns its folder. */
  place(folder: string, place: SnapshotPlace): Promise<string>;
  discard(folder: string): Promise<void>;
  /** Removes what nobody has used for long, and the oldest when all together take too much room. */
  sweep(): Promise<void>;
};

type SnapshotPlace = { url: string; branch: string; commit: string };

type CacheOptions = { root: string; maxTotalBytes: number; now: () => number };

/** Several times what one call may take: someone may still be reading a snapshot that was used this recently. */
const inUseMs = 10 * 60_000;
const unusedMs = 7 * 24 * 60 * 60_000;

export function createCache({ root, maxTotalBytes, now }: CacheOptions): Cache {
  const incoming = join(root, 'incoming');
  const snapshots = join(root, 'snapshots');
  const folderOf = ({ url, branch, commit }: SnapshotPlace) =>
    join(snapshots, createHash('sha256').update(`${url}\0${branch}`).digest('hex'), commit);

  async function markUsed(folder: string): Promise<boolean> {
    const seconds = now() / 1000;
    return ifPresent(
      utimes(folder, seconds, seconds).then(() => true),
      false,
    );
  }

  async function discard(folder: string): Promise<void> {
    // A snapshot leaves its place in one step too, so that nobody meets half of one.
    const away = join(incoming, randomUUID());
    await mkdir(incoming, { recursive: true });
    await ifPresent(rename(folder, away), undefined);
    await rm(away, { recursive: true, force: true });
  }

  return {
    async find(place) {
      const folder = folderOf(place);
      return (await markUsed(folder)) ? folder : null;
    },

    async build(make) {
      const folder = join(incoming, randomUUID());
      await mkdir(incoming, { recursive: true });
      try {
        return await make(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },

    async place(folder, place) {
      const target = folderOf(place);
      await mkdir(join(target, '..'), { recursive: true });
      await markUsed(folder);
      await rename(folder, target).catch(async (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
      });
      return target;
    },

    discard,

    async sweep() {
      const kept = [];
      for (const snapshot of await listSnapshots(snapshots)) {
        const age = now() - snapshot.usedAt;
        if (age > unusedMs || (age > inUseMs && snapshot.superseded)) await discard(snapshot.folder);
        else kept.push(snapshot);
      }
      kept.sort((a, b) => a.usedAt - b.usedAt);
      let total = kept.reduce((sum, snapshot) => sum + snapshot.bytes, 0);
      for (const snapshot of kept) {
        if (total <= maxTotalBytes || now() - snapshot.usedAt <= inUseMs) break;
        await discard(snapshot.folder);
        total -= snapshot.bytes;
      }
      for (const name of await names(incoming)) {
        const folder = join(incoming, name);
        const changedAt = await ifPresent(
          stat(folder).then((found) => found.mtimeMs),
          now(),
        );
        if (now() - changedAt > inUseMs) await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** Bytes of all files below a folder that may change or go away meanwhile. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await ifPresent(readdir(folder, { withFileTypes: true, recursive: true }), []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      ifPresent(
        stat(join(entry.parentPath, entry.name)).then((found) => found.size),
        0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

type Snapshot = { folder: string; usedAt: number; bytes: number; superseded: boolean };

async function listSnapshots(root: string): Promise<Snapshot[]> {
  const all: Snapshot[] = [];
  for (const key of await names(root)) {
    const own: Snapshot[] = [];
    for (const commit of await names(join(root, key))) {
      const folder = join(root, key, commit);
      const usedAt = await ifPresent(
        stat(folder).then((found) => found.mtimeMs),
        0,
      );
      own.push({ folder, usedAt, bytes: await folderBytes(folder), superseded: false });
    }
    const newest = Math.max(...own.map((snapshot) => snapshot.usedAt));
    all.push(...own.map((snapshot) => ({ ...snapshot, superseded: snapshot.usedAt < newest })));
  }
  return all;
}

function names(folder: string): Promise<string[]> {
  return ifPresent(readdir(folder), []);
}

/** Another process may remove anything at any moment; what is gone is answered with the fallback. */
async function ifPresent<T>(work: Promise<T>, fallback: T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return fallback;
    throw error;
  }
}
