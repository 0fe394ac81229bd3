import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../../src/account/caller.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { transact } from '../../src/db/transact.ts';
import { createGit } from '../../src/git/git.ts';
import { createAppTokens } from '../../src/git-host/app-token.ts';
import { createGitHostService } from '../../src/git-host/service.ts';
import { newId } from '../../src/lib/ids.ts';
import { noConfiguration } from '../../src/repository/content-store.ts';
import { createRepositoryService, type RepositoryService } from '../../src/repository/service.ts';
import { repositoryTasks } from '../../src/repository/worker.ts';
import { createRepositoryCredentialService } from '../../src/repository-credential/service.ts';
import { loadKeyRing } from '../../src/secret/key-ring.ts';
import { createSealer } from '../../src/secret/seal.ts';
import { createWarmPoolService } from '../../src/warm-pool/service.ts';
import { startWorkers } from '../../src/work/runner.ts';
import { createDatabase } from '../world/database.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';

const log = pino({ level: 'silent' });
const never = new AbortController().signal;

let everything: AsyncDisposableStack;
let folder: string;
let database: Database;
let host: GitHost;
let credentials: ReturnType<typeof createRepositoryCredentialService>;
let repositories: RepositoryService;
beforeAll(async () => {
  await using starting = new AsyncDisposableStack();
  folder = mkdtempSync(path.join(tmpdir(), 'replica-check-'));
  starting.defer(() => rmSync(folder, { recursive: true, force: true }));
  const made = await createDatabase();
  starting.defer(() => made.drop());
  database = openDatabase({ url: made.url, poolSize: 8, log });
  starting.defer(() => database.close());
  host = await startGitHost();
  starting.defer(() => host.close());
  const sealer = createSealer(loadKeyRing({ file: path.join(folder, 'secret.key') }));
  const common = { newId, now: () => new Date(), sealer, allowPrivateTargets: true };
  const appTokens = createAppTokens({ ...common, hosts: createGitHostService(common) });
  credentials = createRepositoryCredentialService({ ...common, appTokens });
  repositories = createRepositoryService({
    ...common,
    credentials,
    warmPools: createWarmPoolService({ ...common, targetSize: 1 }),
  });
  everything = starting.move();
});
afterAll(() => everything.disposeAsync());

async function newCaller(): Promise<Caller> {
  const organizationId = newId();
  await database.db
    .insertInto('organization')
    .values({ id: organizationId, name: 'o', slug: organizationId })
    .execute();
  return { organizationId, kind: 'org_key', keyId: newId(), personId: null, role: 'admin' };
}

let made = 0;
async function connect(caller: Caller, body: Record<string, unknown> = {}) {
  made += 1;
  const wanted = { url: `https://git.invalid/acme/r${made}`, ...body };
  return transact(database.db, (tx) => repositories.create(tx, caller, wanted));
}

async function begin(id: string) {
  const row = await repositories.checks.begin(database.db, id);
  if (!row) throw new Error('there is nothing to check');
  return row;
}

const found = {
  outcome: 'read' as const,
  reading: {
    default_branch: 'main',
    head_commit: 'a'.repeat(40),
    configuration: noConfiguration,
    skills: [],
  },
};
const failed = { outcome: 'failed' as const, error: 'It failed.' };

describe('a report', () => {
  test('is stored, and a job that is delivered again has nothing left to do', async () => {
    const caller = await newCaller();
    const { id } = await connect(caller);
    await repositories.checks.report(database.db, await begin(id), found);
    expect(await repositories.read(database.db, caller, id)).toMatchObject({
      status: 'ready',
      default_branch: 'main',
    });
    expect(await repositories.checks.begin(database.db, id)).toBeNull();
  });

  test.each([
    ['another branch', async () => ({ default_branch: 'dev' })],
    [
      'another credential',
      async (caller: Caller) => {
        const body = { name: 'c', username: 'u', token: 't' };
        return { credential_id: (await credentials.create(database.db, caller, body)).id };
      },
    ],
  ])('is dropped when %s was set meanwhile', async (_name, change) => {
    const caller = await newCaller();
    const { id } = await connect(caller);
    const seen = await begin(id);
    const body = await change(caller);
    await transact(database.db, (tx) => repositories.update(tx, caller, { id, body }));
    await repositories.checks.report(database.db, seen, found);
    expect(await repositories.read(database.db, caller, id)).toMatchObject({
      status: 'checking',
      head_commit: null,
    });
  });

  test('of an older check is dropped when a newer one was faster', async () => {
    const caller = await newCaller();
    const { id } = await connect(caller);
    const older = await begin(id);
    await transact(database.db, (tx) => repositories.askForCheck(tx, caller, id));
    await repositories.checks.report(database.db, await begin(id), found);
    await repositories.checks.report(database.db, older, failed);
    expect(await repositories.read(database.db, caller, id)).toMatchObject({ status: 'ready', error: null });
  });

  test('of an older check leaves the newer question open', async () => {
    const caller = await newCaller();
    const { id } = await connect(caller);
    const older = await begin(id);
    await transact(database.db, (tx) => repositories.askForCheck(tx, caller, id));
    await repositories.checks.report(database.db, older, failed);
    expect(await repositories.checks.begin(database.db, id)).not.toBeNull();
  });

  test('about a repository that is gone changes nothing', async () => {
    const caller = await newCaller();
    const { id } = await connect(caller);
    const seen = await begin(id);
    await transact(database.db, (tx) => repositories.remove(tx, caller, id));
    await repositories.checks.report(database.db, seen, found);
    expect(await repositories.checks.begin(database.db, id)).toBeNull();
  });
});

describe('the job', () => {
  type Attempt = { attempt?: number; signal?: AbortSignal; lookup?: () => Promise<string[]> };

  async function run(id: string, { attempt = 1, signal = never, lookup }: Attempt): Promise<void> {
    const git = createGit({
      cacheDir: path.join(folder, 'git'),
      allowPrivateTargets: lookup === undefined,
      ...(lookup && { lookup }),
    });
    const [check] = repositoryTasks({ db: database.db, git, repositories });
    await check?.run({ repository_id: id }, { attempt, maxAttempts: 3, signal, log });
  }

  test('ends in an error with a sentence when its last attempt meets a fault, and only then', async () => {
    const caller = await newCaller();
    const body = { name: 'c', username: 'u', token: 't' };
    const { id: credential_id } = await credentials.create(database.db, caller, body);
    await sql`
      update repository_credential set secret = set_byte(secret, 40, get_byte(secret, 40) # 1)
       where id = ${credential_id}`.execute(database.db);
    const { id } = await connect(caller, { credential_id });
    await expect(run(id, { attempt: 2 })).rejects.toThrow('does not open');
    expect(await repositories.read(database.db, caller, id)).toMatchObject({ status: 'checking' });
    await expect(run(id, { attempt: 3 })).rejects.toThrow('does not open');
    const row = await repositories.read(database.db, caller, id);
    expect(row.status).toBe('error');
    expect(row.error).toContain('fault of this service');
  });

  test('stores nothing when it is stopped', async () => {
    const caller = await newCaller();
    const { id } = await connect(caller);
    await expect(run(id, { attempt: 3, signal: AbortSignal.abort() })).rejects.toThrow();
    expect(await repositories.read(database.db, caller, id)).toMatchObject({
      status: 'checking',
      error: null,
    });
  });

  test('refuses a public name that leads to a private address', async () => {
    const caller = await newCaller();
    const { id } = await connect(caller, { url: 'https://git.example.com/acme/inside' });
    await run(id, { lookup: async () => ['8.8.8.8', '10.0.0.7'] });
    const row = await repositories.read(database.db, caller, id);
    expect(row.status).toBe('error');
    expect(row.error).toContain('not allow private targets');
  });
});

describe('waiting', () => {
  test('ends when the time is over, when the repository is gone, and when the caller is', async () => {
    const caller = await newCaller();
    const asked = await connect(caller);
    const wait = (timeoutMs: number, signal = never) =>
      repositories.checks.settled(database.db, [asked], { timeoutMs, signal });
    await wait(60);
    const reason = new Error('gone');
    await expect(wait(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const waiting = wait(60_000);
    await transact(database.db, (tx) => repositories.remove(tx, caller, asked.id));
    await waiting;
  });
});

describe('refresh', () => {
  async function withWorkers(work: () => Promise<void>): Promise<void> {
    const git = createGit({ cacheDir: path.join(folder, 'git'), allowPrivateTargets: true });
    const tasks = repositoryTasks({ db: database.db, git, repositories });
    const workers = await startWorkers({ pool: database.pool, log, tasks, concurrency: 3 });
    try {
      await work();
    } finally {
      await workers.stop();
    }
  }

  test('reads what is stale, once, in the order asked, and nothing of other organizations', async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    await host.createRepository('one.git', { 'replica.json': '{ "systemPrompt": "one" }' });
    await host.createRepository('two.git', { '.claude/commands/go.md': 'Goes.' });
    const one = await connect(caller, { url: host.url('one.git') });
    const two = await connect(caller, { url: host.url('two.git') });
    const theirs = await connect(other, { url: host.url('one.git') });
    const repositoryIds = [two.id, theirs.id, one.id];
    const refresh = () => repositories.refresh(database.db, caller, { repositoryIds, signal: never });
    await withWorkers(async () => {
      const rows = await refresh();
      expect(rows.map((row) => [row.name, row.status])).toEqual([
        ['two', 'ready'],
        ['one', 'ready'],
      ]);
      expect(rows[1]?.configuration).toEqual({
        ...noConfiguration,
        path: 'replica.json',
        systemPrompt: 'one',
      });
      expect(rows[0]?.skills).toMatchObject([{ name: 'go', kind: 'command', description: 'Goes.' }]);

      const seen = host.requests.length;
      await refresh();
      expect(host.requests.length).toBe(seen);

      const head = await host.commit('one.git', { 'replica.json': '{ "systemPrompt": "new" }' });
      await database.db
        .updateTable('repository')
        .set({ checked_at: new Date(Date.now() - 11_000) })
        .where('id', '=', one.id)
        .execute();
      expect((await refresh())[1]).toMatchObject({
        head_commit: head,
        status: 'ready',
        configuration: { systemPrompt: 'new' },
      });
    });
  });

  test('adds no question to one that is open, and ends when the caller is gone', async () => {
    const caller = await newCaller();
    const { id } = await connect(caller);
    const gone = AbortSignal.timeout(50);
    const refreshing = repositories.refresh(database.db, caller, { repositoryIds: [id], signal: gone });
    await expect(refreshing).rejects.toThrow();
    const row = await repositories.read(database.db, caller, id);
    expect(row).toMatchObject({ checks_requested: 1, checks_settled: 0, status: 'checking' });
    const jobs =
      await sql`select 1 from graphile_worker.jobs where key = ${`repository.check:${id}`}`.execute(
        database.db,
      );
    expect(jobs.rows).toHaveLength(1);
  });
});

test('checks that are due together are spread, and shown as they were', async () => {
  const caller = await newCaller();
  const ids: string[] = [];
  for (let at = 0; at < 3; at++) {
    const { id } = await connect(caller);
    await repositories.checks.report(database.db, await begin(id), found);
    ids.push(id);
  }
  const longAgo = new Date(Date.now() - 6 * 60_000);
  await database.db.updateTable('repository').set({ checked_at: longAgo }).where('id', 'in', ids).execute();
  await sql`delete from graphile_worker._private_jobs`.execute(database.db);
  expect(await repositories.checks.requestDue(database.db)).toBe(3);
  const { rows } = await sql<{
    run_at: Date;
  }>`select run_at from graphile_worker.jobs order by run_at`.execute(database.db);
  const starts = rows.map((row) => row.run_at.getTime() - (rows[0]?.run_at.getTime() ?? 0));
  expect(starts).toEqual([0, 15_000, 30_000]);
  expect(await repositories.read(database.db, caller, ids[0] ?? '')).toMatchObject({ status: 'ready' });
});
