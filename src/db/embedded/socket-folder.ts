import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgresError } from './error.ts';
import type { ServerUser } from './server-user.ts';

/** There is one server per folder and no network port: the number only names the socket. */
export const SOCKET_PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${SOCKET_PORT}`;

/** A socket's address holds 108 bytes on Linux and 104 on macOS, with the final zero byte. */
const LONGEST_SOCKET_PATH = 100;

/** Where the server of this data folder listens: in it, or in the temporary folder when that path is too long. */
export function chooseSocketFolder(dataDir: string): string {
  const inside = join(dataDir, 'run');
  if (fits(inside)) return inside;
  const name = `replica-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`;
  const outside = [realpathSync(tmpdir()), '/tmp'].map((folder) => join(folder, name)).find(fits);
  if (!outside)
    throw new EmbeddedPostgresError(`The path ${dataDir} is too long: choose a shorter REPLICA_DATA_DIR.`);
  return outside;
}

/**
 * Makes the folder, for the server's user alone, and opens it. The temporary folder is shared, so that anybody may have
 * put something under this name: everything is checked and changed through the descriptor, never through the name.
 */
export function openSocketFolder(path: string, user: ServerUser | undefined): number {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const descriptor = openFolder(path);
  try {
    const owner = fstatSync(descriptor).uid;
    const self = process.getuid?.();
    if (owner !== self && owner !== user?.uid) {
      throw new EmbeddedPostgresError(`${path} belongs to user id ${owner}, who is not us: have it removed.`);
    }
    fchmodSync(descriptor, 0o700);
    if (user) fchownSync(descriptor, user.uid, user.gid);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/**
 * Removes what a killed server left. PostgreSQL does so itself only when the process named in the lock file is gone,
 * and believes one that is dead but not yet reaped, or a new one with the same number. The caller holds the start lock
 * and has found no server of this folder.
 */
export function removeStaleSocket(path: string): void {
  for (const name of [SOCKET_NAME, `${SOCKET_NAME}.lock`]) rmSync(join(path, name), { force: true });
}

/** Removes what a stopped or killed server leaves: by name, since root does not walk through a folder of another user. */
export function removeSocketFolder(path: string): void {
  removeStaleSocket(path);
  try {
    rmdirSync(path);
  } catch (error) {
    if (existsSync(path)) throw error;
  }
}

function openFolder(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    throw new EmbeddedPostgresError(`${path} is not a folder of ours: remove it.`, { cause: error });
  }
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, SOCKET_NAME)) <= LONGEST_SOCKET_PATH;
}
