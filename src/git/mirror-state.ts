import { createHash, randomUUID } from 'node:crypto';
import { open, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the mirror of one repository of one organization is kept. */
export type MirrorPlace = { folder: string; lockFile: string };

/** Which repository of a place is in use. It is written whole, by whoever holds the lock, and read by anyone. */
export type MirrorState = {
  /** The name of the bare repository in the place's folder. */
  repository: string;
  builtAt: number;
  /** When the remote was last asked what it holds, and answered. */
  askedAt: number;
};

/** What anyone may note beside a mirror without the lock: each is the time of an empty file. */
export type Mark =
  /** Something was pushed to the remote: what was asked before is old. */
  | 'pushed'
  /** The repository could not be read: what was built before is built anew. */
  | 'broken'
  /** Somebody read it. */
  | 'used';

export function mirrorsFolder(cacheDir: string): string {
  return join(cacheDir, 'mirrors');
}

/** Lock files stay for ever: one that is removed while somebody waits for it would be held by two. */
export function lockFolder(cacheDir: string): string {
  return join(cacheDir, 'mirror-locks');
}

/** The URL is part of the name, so that a repository that moves does not meet what another host sent. */
export function placeOf(cacheDir: string, { key, url }: { key: string; url: string }): MirrorPlace {
  return placeNamed(cacheDir, createHash('sha256').update(`${key}\0${url}`).digest('hex'));
}

export function placeNamed(cacheDir: string, name: string): MirrorPlace {
  return { folder: join(mirrorsFolder(cacheDir), name), lockFile: join(lockFolder(cacheDir), `${name}.db`) };
}

export async function readState(place: MirrorPlace): Promise<MirrorState | null> {
  try {
    const value: Partial<MirrorState> = JSON.parse(await readFile(stateFile(place), 'utf8'));
    const { repository, builtAt, askedAt } = value;
    if (typeof repository !== 'string' || !repositoryName.test(repository)) return null;
    if (typeof builtAt !== 'number' || typeof askedAt !== 'number') return null;
    return { repository, builtAt, askedAt };
  } catch (error) {
    // A state that a power cut has emptied is none: the mirror is built anew.
    if (isAbsent(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

export async function writeState(place: MirrorPlace, state: MirrorState): Promise<void> {
  const draft = `${stateFile(place)}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(state), { mode: 0o600, flush: true });
  await rename(draft, stateFile(place));
}

export const repositoryName = /^[0-9a-f-]{36}\.git$/;

/** Notes the time; a place that does not exist has nothing to note. */
export async function mark(place: MirrorPlace, name: Mark, at: number): Promise<void> {
  const file = join(place.folder, name);
  try {
    await (await open(file, 'a', 0o600)).close();
    await utimes(file, at / 1000, at / 1000);
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
}

/** The time that was noted last, or 0. */
export async function markedAt(place: MirrorPlace, name: Mark): Promise<number> {
  try {
    return Math.round((await stat(join(place.folder, name))).mtimeMs);
  } catch (error) {
    if (isAbsent(error)) return 0;
    throw error;
  }
}

/** Whether nobody has found the repository unreadable since it was built. */
export async function isWhole(place: MirrorPlace, state: MirrorState): Promise<boolean> {
  return (await markedAt(place, 'broken')) < state.builtAt;
}

export function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function stateFile(place: MirrorPlace): string {
  return join(place.folder, 'state.json');
}
