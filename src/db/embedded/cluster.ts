import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Binaries } from './binaries.ts';
import { EmbeddedPostgresError } from './error.ts';
import { nameHandedOver } from './hand-over.ts';
import { type ServerUser, serverEnvironment } from './server-user.ts';

/** The one role of the embedded server and its database. */
export const ROLE = 'replica';

type Wish = {
  dataFolder: string;
  binaries: Binaries;
  user: ServerUser | undefined;
  onProgress: (line: string) => void;
  signal: AbortSignal | undefined;
};

/** Makes the data folder when there is none. The caller holds the start lock. */
export async function ensureCluster(wish: Wish): Promise<void> {
  const { dataFolder, binaries, user, onProgress } = wish;
  const versionFile = join(dataFolder, 'PG_VERSION');
  removeDrafts(dataFolder);
  if (existsSync(versionFile)) {
    const madeBy = readFileSync(versionFile, 'utf8').trim();
    if (madeBy === binaries.majorVersion) return;
    throw new EmbeddedPostgresError(
      `${dataFolder} was made by PostgreSQL ${madeBy} and this release brings ${binaries.majorVersion}: ` +
        'export it with the release that made it, then import it with this one.',
    );
  }
  const home = dirname(dataFolder);
  onProgress('Making the database; this happens once.');
  // A folder that has its final name is complete: initdb writes and syncs the draft, and the rename publishes it.
  const draft = `${dataFolder}.init-${randomUUID()}`;
  mkdirSync(draft, { mode: 0o700 });
  try {
    if (user) chownSync(draft, user.uid, user.gid);
    await runInitdb({ ...wish, dataFolder: draft });
    renameSync(draft, dataFolder);
    syncFolder(home);
    // What an initdb was still writing at the beginning has come to its end by now.
    removeDrafts(dataFolder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
}

/**
 * Only the operating-system users that this process runs as, and root, become the database's role; the kernel tells the
 * server who is calling. A socket folder alone would also let in everything else that runs as `nobody`.
 */
export function writeAccessRules(dataFolder: string, user: ServerUser | undefined): void {
  const names = new Set(['root', userInfo().username]);
  const map = [...names].map((name) => `${ROLE} ${quote(name)} ${ROLE}\n`).join('');
  replaceFile({ path: join(dataFolder, 'pg_hba.conf'), text: `local all ${ROLE} peer map=${ROLE}\n`, user });
  replaceFile({ path: join(dataFolder, 'pg_ident.conf'), text: map, user });
}

function quote(name: string): string {
  if (/["/\n]/.test(name))
    throw new EmbeddedPostgresError(`PostgreSQL cannot name the user ${JSON.stringify(name)}.`);
  return `"${name}"`;
}

/** The folder belongs to the server's user, so root neither follows a link nor writes into a file found there. */
function replaceFile({
  path,
  text,
  user,
}: {
  path: string;
  text: string;
  user: ServerUser | undefined;
}): void {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
  if (user) chownSync(draft, user.uid, user.gid);
  renameSync(draft, path);
}

function removeDrafts(dataFolder: string): void {
  const home = dirname(dataFolder);
  for (const name of readdirSync(home)) {
    if (!name.startsWith(`${basename(dataFolder)}.init-`)) continue;
    try {
      rmSync(join(home, name), { recursive: true, force: true, maxRetries: 5 });
    } catch {
      // An initdb whose parent was killed may still write there. It is in nobody's way and goes with the next start.
    }
  }
}

async function runInitdb({ dataFolder, binaries, user, signal }: Wish): Promise<void> {
  signal?.throwIfAborted();
  const folder = openSync(dataFolder, 'r');
  const name = nameHandedOver({ folder: dataFolder, descriptor: 3, user });
  const child = spawn(binaries.initdb, initdbArguments(name), {
    ...user,
    cwd: '/',
    env: serverEnvironment(),
    // A group of its own: a Ctrl-C in the terminal is ours to handle, and an abort reaches initdb's children too.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', folder],
  });
  closeSync(folder);
  let said = '';
  const listen = (chunk: Buffer) => {
    said += chunk;
  };
  child.stdout?.on('data', listen);
  child.stderr?.on('data', listen);
  const killGroup = () => {
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  signal?.addEventListener('abort', killGroup, { once: true });
  const status = await new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signalName) => resolve(code ?? signalName));
  }).finally(() => signal?.removeEventListener('abort', killGroup));
  signal?.throwIfAborted();
  if (status !== 0) throw new EmbeddedPostgresError(`initdb ended with ${status}: ${lastLines(said)}`);
}

function initdbArguments(folder: string): string[] {
  return [
    `--pgdata=${folder}`,
    `--username=${ROLE}`,
    '--auth=reject',
    '--encoding=UTF8',
    // Sorted by code point on every machine, with upper and lower case of all of Unicode.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ];
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-3).join(' ');
}

function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
