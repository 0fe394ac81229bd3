import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { chooseSocketFolder } from '../../src/db/embedded/socket-folder.ts';
import { type EmbeddedPostgresOptions, startEmbeddedPostgres } from '../../src/db/embedded/start.ts';

const NOBODY = 65534;
const isLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;
const processFile = join(import.meta.dirname, 'embedded-process.ts');

/** A data folder that was started and stopped once: copies of it spare most tests the first start. */
let template: string;
const cleanups: (() => unknown)[] = [];

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), 'replica-pg-'));
  const postgres = await startEmbeddedPostgres({ dataDir: template });
  await postgres.stop();
}, 60_000);

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

afterAll(() => {
  rmSync(template, { recursive: true, force: true });
});

describe('first start and restart', () => {
  test('the first start makes a database, and stop leaves neither a process nor a socket', async () => {
    const dataDir = makeFolder();
    const lines: string[] = [];
    const postgres = await start({ dataDir, onProgress: (line) => lines.push(line) });
    expect(lines).toEqual(['Making the database; this happens once.']);
    expect(postgres.adopted).toBe(false);
    const [row] = await query(
      postgres.connectionString,
      `SELECT current_database() AS name, current_setting('fsync') AS fsync, current_setting('listen_addresses') AS port`,
    );
    expect(row).toEqual({ name: 'replica', fsync: 'on', port: '' });

    await postgres.stop();
    await postgres.stop();
    expect(processesIn(dataDir)).toEqual([]);
    expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres-start.db', 'postgres.log']);
    expect(existsSync(join(dataDir, 'postgres', 'postmaster.pid'))).toBe(false);
  }, 60_000);

  test('what was written is there after a restart', async () => {
    const dataDir = copyTemplate();
    const first = await start({ dataDir });
    await query(first.connectionString, 'CREATE TABLE note AS SELECT 7 AS n');
    await first.stop();
    const second = await start({ dataDir });
    expect(second.adopted).toBe(false);
    expect(await query(second.connectionString, 'SELECT n FROM note')).toEqual([{ n: 7 }]);
  });

  test('a server of another major version is named, not started', async () => {
    const dataDir = copyTemplate();
    writeFileSync(join(dataDir, 'postgres', 'PG_VERSION'), '17\n');
    await expect(start({ dataDir })).rejects.toThrow(/was made by PostgreSQL 17 and this release brings 18/);
  });

  test('a setting that PostgreSQL refuses is said in the error', async () => {
    const start_ = start({ dataDir: copyTemplate(), settings: { max_connections: 'many' } });
    await expect(start_).rejects.toThrow(/does not start: .*max_connections/);
  });

  test('an aborted first start leaves nothing behind', async () => {
    const dataDir = makeFolder();
    const abort = new AbortController();
    const starting = start({ dataDir, onProgress: () => abort.abort(), signal: abort.signal });
    await expect(starting).rejects.toThrow(/abort/i);
    expect(readdirSync(dataDir)).toEqual(['postgres-start.db']);
    expect(processesIn(dataDir)).toEqual([]);
  });
});

describe('a server that outlived its parent', () => {
  test('is adopted after kill -9 of the parent', async () => {
    const dataDir = copyTemplate();
    const parent = spawnProcess(dataDir);
    const left = await parent.said;
    await kill(parent.child);
    const postgres = await start({ dataDir });
    expect(postgres).toMatchObject({ pid: left.pid, adopted: true });
    expect(await query(postgres.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await postgres.stop();
    expect(processesIn(dataDir)).toEqual([]);
  });

  test('is restarted when it runs with other settings', async () => {
    const dataDir = copyTemplate();
    const old = await start({ dataDir });
    const postgres = await start({ dataDir, settings: { max_connections: '33' } });
    expect(postgres.adopted).toBe(false);
    expect(postgres.pid).not.toBe(old.pid);
    expect(await query(postgres.connectionString, 'SHOW max_connections')).toEqual([
      { max_connections: '33' },
    ]);
  });

  test('is restarted when its socket has been removed', async () => {
    const dataDir = copyTemplate();
    const old = await start({ dataDir });
    rmSync(chooseSocketFolder(realpathSync(dataDir)), { recursive: true });
    const postgres = await start({ dataDir });
    expect(postgres.adopted).toBe(false);
    expect(postgres.pid).not.toBe(old.pid);
    expect(await query(postgres.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('is waited for while it is still shutting down', async () => {
    const dataDir = copyTemplate();
    const old = await start({ dataDir });
    process.kill(old.pid, 'SIGINT');
    const postgres = await start({ dataDir });
    expect(await query(postgres.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(postgres.pid).not.toBe(old.pid);
  });
});

describe('crashes', () => {
  test('committed rows survive kill -9 of the postmaster', async () => {
    const dataDir = copyTemplate();
    const first = await start({ dataDir });
    await query(first.connectionString, 'CREATE TABLE note (n int)');
    for (let n = 0; n < 3; n += 1) await query(first.connectionString, `INSERT INTO note VALUES (${n})`);
    process.kill(first.pid, 'SIGKILL');
    const second = await start({ dataDir });
    expect(await query(second.connectionString, 'SELECT count(*)::int AS count FROM note')).toEqual([
      { count: 3 },
    ]);
  });

  test('a first start that was killed half-way is done again', async () => {
    const dataDir = makeFolder();
    const { child, said } = spawnProcess(dataDir);
    said.catch(() => {});
    await until(() => drafts(dataDir).some((draft) => existsSync(join(dataDir, draft, 'base'))));
    await kill(child);
    expect(existsSync(join(dataDir, 'postgres'))).toBe(false);
    const postgres = await start({ dataDir });
    expect(await query(postgres.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(drafts(dataDir)).toEqual([]);
  }, 60_000);

  test('a pid file of a process that is gone does not matter', async () => {
    const dataDir = copyTemplate();
    const gone = spawnSync('true').pid;
    writePidFile(dataDir, gone);
    const postgres = await start({ dataDir });
    expect(postgres.adopted).toBe(false);
  });

  test.skipIf(!isLinux)(
    'a pid file whose number another process of the same user has by now does not matter',
    async () => {
      const dataDir = copyTemplate();
      const { uid, gid } = statSync(join(dataDir, 'postgres'));
      const bystander = spawn('sleep', ['600'], { ...(isRoot && { uid, gid }), cwd: '/', stdio: 'ignore' });
      cleanups.push(() => kill(bystander));
      writePidFile(dataDir, bystander.pid);
      const postgres = await start({ dataDir });
      expect(postgres.adopted).toBe(false);
      await postgres.stop();
      expect(bystander.exitCode ?? bystander.signalCode).toBe(null);
    },
  );

  test('the server of another data folder is neither adopted nor touched', async () => {
    const [theirs, ours] = [copyTemplate(), copyTemplate()];
    const other = await start({ dataDir: theirs });
    execFileSync('cp', ['-a', join(theirs, 'postgres', 'postmaster.pid'), join(ours, 'postgres')]);
    const postgres = await start({ dataDir: ours });
    expect(postgres.adopted).toBe(false);
    expect(postgres.pid).not.toBe(other.pid);
    await postgres.stop();
    expect(await query(other.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('two at once', () => {
  test('two processes that make the same first start end up on one server', async () => {
    const dataDir = makeFolder();
    const processes = [spawnProcess(dataDir), spawnProcess(dataDir)];
    const said = await Promise.all(processes.map((process) => process.said));
    expect(new Set(said.map(({ pid }) => pid)).size).toBe(1);
    expect(said.map(({ adopted }) => adopted).sort()).toEqual([false, true]);
    for (const { child } of processes) await kill(child);
    await (await start({ dataDir })).stop();
  }, 60_000);
});

describe('who may connect', () => {
  test.skipIf(!isRoot)('started by root, it runs as a user who is not root', async () => {
    const postgres = await start({ dataDir: copyTemplate() });
    expect(statSync(`/proc/${postgres.pid}`).uid).toBeGreaterThan(0);
  });

  test.skipIf(!isRoot)("even the server's own user is refused when root started it", async () => {
    const dataDir = copyTemplate();
    // The socket's folder is that user's, so that only the server's own rules are in the way.
    for (const folder of [dirname(dataDir), dataDir]) chmodSync(folder, 0o755);
    const postgres = await start({ dataDir });
    const { uid, gid } = statSync(join(dataDir, 'postgres'));
    const code = `
      import pg from ${JSON.stringify(import.meta.resolve('pg'))};
      const client = new pg.Client(process.argv[1]);
      await client.connect().then(() => console.log('connected'), (error) => console.log(error.code));
      process.exit();`;
    const args = ['--input-type=module', '-e', code, postgres.connectionString];
    const run = spawnSync(process.execPath, args, { uid, gid, cwd: '/', encoding: 'utf8' });
    // Under a folder that only root enters, that user cannot even load the driver.
    if (run.error || run.status !== 0) return expect(canReachProject(uid)).toBe(false);
    expect(run.stdout.trim()).toBe('28000');
  });

  test.skipIf(!isRoot || !canReachProject(NOBODY))(
    'an ordinary user starts, uses and stops it',
    async () => {
      const dataDir = makeFolder();
      chownSync(dataDir, NOBODY, NOBODY);
      const { child, said } = spawnProcess(dataDir, { uid: NOBODY });
      const { pid } = await said;
      expect(statSync(`/proc/${pid}`).uid).toBe(NOBODY);
      await kill(child);
      const again = spawnProcess(dataDir, { uid: NOBODY, ending: 'stop' });
      expect(await again.said).toEqual({ pid, adopted: true });
      await ended(again.child);
      expect(processesIn(dataDir)).toEqual([]);
      expect(existsSync(join(dataDir, 'run'))).toBe(false);
    },
    60_000,
  );

  test.skipIf(!isRoot)("root starts an ordinary user's data as that user", async () => {
    const dataDir = copyTemplate();
    execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, join(dataDir, 'postgres')]);
    const postgres = await start({ dataDir });
    expect(statSync(`/proc/${postgres.pid}`).uid).toBe(NOBODY);
  });
});

describe('a path too long for a socket', () => {
  test('has its socket in the temporary folder, which stop removes', async () => {
    const dataDir = copyTemplate('x'.repeat(120));
    const socketFolder = chooseSocketFolder(realpathSync(dataDir));
    expect(dirname(socketFolder)).toBe(realpathSync(tmpdir()));
    const postgres = await start({ dataDir });
    expect(await query(postgres.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(statSync(socketFolder).mode & 0o777).toBe(0o700);
    await postgres.stop();
    expect(existsSync(socketFolder)).toBe(false);
  });

  test('refuses a link that somebody has put in its place', async () => {
    const dataDir = copyTemplate('x'.repeat(120));
    const socketFolder = chooseSocketFolder(realpathSync(dataDir));
    const elsewhere = makeFolder();
    symlinkSync(elsewhere, socketFolder);
    cleanups.push(() => rmSync(socketFolder, { force: true }));
    await expect(start({ dataDir })).rejects.toThrow(/is not a folder of ours/);
    expect(readdirSync(elsewhere)).toEqual([]);
  });

  test.skipIf(!isRoot)("refuses another user's folder in its place", async () => {
    const dataDir = copyTemplate('x'.repeat(120));
    const socketFolder = chooseSocketFolder(realpathSync(dataDir));
    mkdirSync(socketFolder);
    chownSync(socketFolder, 54321, 54321);
    cleanups.push(() => rmSync(socketFolder, { recursive: true, force: true }));
    await expect(start({ dataDir })).rejects.toThrow(/belongs to user id 54321/);
  });
});

async function start(options: EmbeddedPostgresOptions) {
  const postgres = await startEmbeddedPostgres(options);
  cleanups.push(() => postgres.stop());
  return postgres;
}

async function query(connectionString: string, sql: string) {
  const pool = new pg.Pool({ connectionString, max: 1 });
  // A server that a test kills takes idle connections with it.
  pool.on('error', () => {});
  try {
    return (await pool.query(sql)).rows;
  } finally {
    await pool.end();
  }
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'replica-pg-'));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

function copyTemplate(name = 'data'): string {
  const dataDir = join(makeFolder(), name);
  execFileSync('cp', ['-a', template, dataDir]);
  return dataDir;
}

function spawnProcess(
  dataDir: string,
  { uid, ending = 'wait' }: { uid?: number; ending?: 'wait' | 'stop' } = {},
) {
  const child = spawn(process.execPath, [processFile, dataDir, ending], {
    ...(uid !== undefined && { uid, gid: uid }),
    cwd: '/',
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  cleanups.push(() => kill(child));
  const said = new Promise<{ pid: number; adopted: boolean }>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)));
    child.once('exit', (code, signal) => reject(new Error(`The process ended with ${code ?? signal}.`)));
  });
  return { child, said };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await ended(child);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await delay(1);
}

function drafts(dataDir: string): string[] {
  return readdirSync(dataDir).filter((name) => name.startsWith('postgres.init-'));
}

function writePidFile(dataDir: string, pid: number | undefined): void {
  const file = join(dataDir, 'postgres', 'postmaster.pid');
  writeFileSync(
    file,
    `${pid}\n${join(dataDir, 'postgres')}\n1700000000\n5432\n/nowhere\n\n  1  1\nready   \n`,
  );
  const { uid, gid } = statSync(dirname(file));
  chownSync(file, uid, gid);
}

/** The processes that work inside a folder. */
function processesIn(folder: string): string[] {
  if (!isLinux) return [];
  return readdirSync('/proc').filter((name) => {
    try {
      return readlinkSync(`/proc/${name}/cwd`).startsWith(`${realpathSync(folder)}/`);
    } catch {
      return false;
    }
  });
}

function canReachProject(uid: number): boolean {
  const run = spawnSync(process.execPath, ['-e', 'fs.readFileSync(process.argv[1])', processFile], {
    uid,
    gid: uid,
    cwd: '/',
  });
  return run.status === 0;
}
