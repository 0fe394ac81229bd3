import { closeSync, constants, lstatSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import path from 'node:path';

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
const MAX_LINKS = 8;
const PRIVATE_FOLDERS = new Set(['.ssh', '.gnupg', '.aws', '.kube']);
/** It belongs to the service, which makes no links in it. */
const OWN_FOLDER = '.replica';

/** What cannot be placed, for a reason the user can do something about. */
export class PlacementError extends Error {
  override name = 'PlacementError';
}

/** What the user can be told of an error, as the end of a sentence; null for one that is about the disk as a whole. */
export function placementProblem(error: unknown): string | null {
  if (error instanceof PlacementError) return error.message;
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'EISDIR' || code === 'ERR_FS_EISDIR') return 'a folder is in its place';
  return placementErrors.has(code) ? `the file system answers ${code}` : null;
}

const placementErrors = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENAMETOOLONG',
  'ENOTDIR',
  'ELOOP',
  'ENOENT',
  'EEXIST',
  'EBUSY',
]);

/** The parts of a path below the home directory, given as `~/…` or relative to it. */
export function homeParts(given: string): string[] {
  const parts = given.replace(/^~\//, '').split('/');
  checkParts(parts);
  return parts;
}

/** Whoever puts a name behind a folder that is held open has to be sure that it leads no way up. */
export function checkParts(parts: readonly string[]): void {
  if (parts.some((part) => part === '' || part === '.' || part === '..' || /[/\0]/.test(part))) {
    throw new PlacementError('its path is not one below the home directory');
  }
}

/**
 * Calls `use` with a folder below the home directory, which is made if need be. The folder is held open, so whatever is
 * renamed or linked meanwhile, the name given leads into this one. A link on the way is followed only to a place that
 * is below the home directory again.
 */
export function useHomeFolder<T>(home: string, parts: readonly string[], use: (folder: string) => T): T {
  checkParts(parts);
  const descriptor = openFolder(home, parts, MAX_LINKS);
  try {
    return use(held(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function held(descriptor: number): string {
  return `/proc/self/fd/${descriptor}`;
}

function openFolder(home: string, parts: readonly string[], linksLeft: number): number {
  let descriptor = openSync(home, O_RDONLY | O_DIRECTORY);
  try {
    for (const [index, part] of parts.entries()) {
      const folder = path.join(held(descriptor), part);
      const next = openOrMake(folder, PRIVATE_FOLDERS.has(part) ? 0o700 : 0o755);
      if (next === 'link') {
        if (parts[0] === OWN_FOLDER) throw new PlacementError(`${part} on the way to it is a link`);
        if (linksLeft === 0) throw new PlacementError('too many links are on the way to it');
        const real = realParts(home, folder);
        return openFolder(home, [...real, ...parts.slice(index + 1)], linksLeft - 1);
      }
      closeSync(descriptor);
      descriptor = next;
    }
    const opened = descriptor;
    descriptor = -1;
    return opened;
  } finally {
    if (descriptor >= 0) closeSync(descriptor);
  }
}

function openOrMake(folder: string, mode: number): number | 'link' {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  try {
    return openSync(folder, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') {
      mkdirSync(folder, { mode });
      return openSync(folder, flags);
    }
    if (code !== 'ENOTDIR' && code !== 'ELOOP') throw error;
    if (lstatSync(folder).isSymbolicLink()) return 'link';
    throw new PlacementError(`${path.basename(folder)} on the way to it is not a folder`);
  }
}

function realParts(home: string, link: string): string[] {
  const real = realOrNull(link);
  if (!real) throw new PlacementError('a link on the way to it leads nowhere');
  const below = path.relative(realpathSync.native(home), real);
  if (below === '..' || below.startsWith('../')) {
    throw new PlacementError('a link on the way to it leads out of the home directory');
  }
  return below === '' ? [] : below.split('/');
}

function realOrNull(link: string): string | null {
  try {
    return realpathSync.native(link);
  } catch {
    return null;
  }
}
