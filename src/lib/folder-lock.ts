/**
 * One live process per folder.
 *
 * The lock is an exclusive SQLite transaction on an empty database file. SQLite takes it as a byte-range lock of the
 * kernel, so it is gone the moment its holder is, however it died: there is no stale lock to judge and nothing to
 * delete, which is where lock files with a process id inside race. Node has no file lock of its own; SQLite comes with
 * Node, so neither a native add-on nor a helper process is needed, and children do not inherit the lock.
 *
 * Who holds the lock stands in a file beside it. That file is for people: it is only read to word the refusal.
 *
 * The kernel drops such a lock when its process closes any descriptor of the file. Nothing may open the lock file
 * with `node:fs`; SQLite itself keeps count of its connections within one process.
 */
import { chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const SQLITE_BUSY = 5;
const SQLITE_CANTOPEN = 14;

/** A connection that nothing refers to is closed by the garbage collector, and its lock with it. */
const held = new Set<DatabaseSync>();

export class FolderLockedError extends Error {
  override readonly name = 'FolderLockedError';
}

/** The folder is absent, or this user cannot write it. */
export class FolderUnusableError extends Error {
  override readonly name = 'FolderUnusableError';
}

/** Takes the folder for this process until `release` or the end of the process; throws FolderLockedError when it is taken. */
export function lockFolder(path: string, holder: { role: string }): { release(): void } {
  const nameFile = join(path, 'lock.json');
  const unlock = tryLockFile(join(path, 'lock.db'));
  if (!unlock) throw new FolderLockedError(`${path} is in use by ${describeHolder(nameFile)}.`);
  try {
    writeHolder(nameFile, holder.role);
  } catch (error) {
    unlock();
    throw error;
  }
  let released = false;
  return {
    release() {
      if (released) return;
      released = true;
      // The name goes while the lock is still held: afterwards it may already be the next holder's.
      rmSync(nameFile, { force: true });
      unlock();
    },
  };
}

/** Locks one file without waiting: the function that unlocks it, or undefined when another process (or this one) has it. */
export function tryLockFile(file: string): (() => void) | undefined {
  const database = openLockFile(file);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (hasResult(error, SQLITE_BUSY)) return undefined;
    throw error;
  }
  // Another user who could open the file could also hold it, and keep us out.
  chmodSync(file, 0o600);
  held.add(database);
  return () => {
    if (held.delete(database)) database.close();
  };
}

function openLockFile(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file);
  } catch (error) {
    if (!hasResult(error, SQLITE_CANTOPEN)) throw error;
    const who = process.getuid ? `user id ${process.getuid()}` : 'this user';
    throw new FolderUnusableError(
      `${file} cannot be opened: its folder must exist, and ${who} must be able to write it.`,
      { cause: error },
    );
  }
}

function hasResult(error: unknown, code: number): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === code;
}

function writeHolder(nameFile: string, role: string): void {
  const draft = `${nameFile}.${process.pid}`;
  const holder = { pid: process.pid, role, since: new Date().toISOString(), host: hostname() };
  writeFileSync(draft, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  renameSync(draft, nameFile);
}

function describeHolder(nameFile: string): string {
  // A holder that has just won writes its name a moment later; until then the name of a dead one may stand there.
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const holder = readHolder(nameFile);
    if (holder && (holder.host !== hostname() || isAlive(holder.pid))) {
      const elsewhere = holder.host === hostname() ? '' : ` on ${holder.host}`;
      return `${holder.role} (pid ${holder.pid}${elsewhere}, since ${holder.since})`;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  }
  return 'another process that has not written its name';
}

function readHolder(nameFile: string) {
  try {
    const value: unknown = JSON.parse(readFileSync(nameFile, 'utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    const { pid, role, since, host } = value as Record<string, unknown>;
    if (!Number.isSafeInteger(pid)) return undefined;
    return { pid: Number(pid), role: String(role), since: String(since), host: String(host) };
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
