import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GitError } from '../../src/git/failure.ts';
import { createMirrors, type MirrorOptions, type Mirrors } from '../../src/git/mirror.ts';
import type { GitRemote } from '../../src/git/remote.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { shorten } from './shorten.ts';

const login = { username: 'robot', password: 'correct-horse-battery-staple' };
const credential = { username: login.username, secret: login.password };
const dayMs = 24 * 60 * 60_000;

let host: GitHost;
let cacheDir: string;
let name: string;
let clock: number;
let count = 0;
const opened: Mirrors[] = [];
const servers: Server[] = [];

beforeAll(async () => {
  host = await startGitHost();
});
afterAll(() => host.close());
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'git-mirror-'));
  name = `repository-${++count}.git`;
  clock = Date.now();
});
afterEach(async () => {
  for (const mirrors of opened.splice(0)) await mirrors.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
  await rm(cacheDir, { recursive: true, force: true });
});

function open(options: Partial<MirrorOptions> = {}): Mirrors {
  const log = pino({ level: 'silent' });
  const mirrors = createMirrors({ cacheDir, allowPrivateTargets: true, log, now: () => clock, ...options });
  opened.push(mirrors);
  return mirrors;
}

type Wanted = { remote?: GitRemote; key?: string; signal?: AbortSignal };
const ensure = (mirrors: Mirrors, { remote, key = 'key', signal }: Wanted = {}) =>
  mirrors.ensure({
    remote: remote ?? { url: host.url(name) },
    key,
    signal: signal ?? AbortSignal.timeout(20_000),
  });
const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['--git-dir', folder, ...args], { encoding: 'utf8' }).trim();
const refs = (folder: string) => git(folder, 'for-each-ref', '--format=%(refname)').split('\n');
const asked = () => host.requests.filter((line) => line.includes(name)).length;
const repositories = async (folder: string) =>
  (await readdir(join(folder, '..'))).filter((entry) => entry.endsWith('.git'));

async function failure(work: Promise<unknown>): Promise<GitError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(GitError);
  return error as GitError;
}

/** A way to the git host that can be closed. */
async function startFront(): Promise<{ base: string; stop(): Promise<void> }> {
  const { hostname, port } = new URL(host.url(''));
  const front = createTcpServer((near) => {
    const far = connect(Number(port), hostname);
    near.on('error', () => far.destroy()).pipe(far);
    far.on('error', () => near.destroy()).pipe(near);
  });
  front.listen(0, '127.0.0.1');
  await once(front, 'listening');
  return {
    base: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    async stop() {
      front.close();
      await once(front, 'close');
    },
  };
}

describe('what a mirror holds', () => {
  test('it follows branches, tags and the default branch as they come, change and go', async () => {
    await host.createRepository(name, { a: '1' });
    await host.commit(name, { b: '2' }, { branch: 'old' });
    await host.git(name, ['tag', 'v1', 'main']);
    const mirrors = open();
    const first = await ensure(mirrors);
    expect(refs(first.folder)).toEqual(['refs/heads/main', 'refs/heads/old', 'refs/tags/v1']);
    await host.git(name, ['branch', '-D', 'old']);
    await host.git(name, ['tag', '-d', 'v1']);
    const next = await host.commit(name, { c: '3' }, { branch: 'old/below' });
    await host.git(name, ['symbolic-ref', 'HEAD', 'refs/heads/old/below']);
    await host.git(name, ['update-ref', 'refs/heads/main', next]);
    clock += 3_000;
    const second = await ensure(mirrors);
    expect(second.folder).toBe(first.folder);
    expect(refs(second.folder)).toEqual(['refs/heads/main', 'refs/heads/old/below']);
    expect(git(second.folder, 'symbolic-ref', 'HEAD')).toBe('refs/heads/old/below');
    expect(git(second.folder, 'rev-parse', 'main')).toBe(next);
  });

  test('a head on no branch is kept, and an empty repository is one', async () => {
    await host.createRepository(name, {});
    const mirrors = open();
    expect(refs((await ensure(mirrors)).folder)).toEqual(['']);
    const first = await host.commit(name, { a: '1' });
    await host.commit(name, { b: '2' });
    await host.git(name, ['update-ref', '--no-deref', 'HEAD', first]);
    clock += 3_000;
    const { folder } = await ensure(mirrors);
    expect(git(folder, 'rev-parse', 'HEAD')).toBe(first);
  });

  test('a repository with longer object names is mirrored', async () => {
    await host.createRepository(name, { a: '1' }, { objectFormat: 'sha256' });
    const { folder } = await ensure(open());
    expect(git(folder, 'rev-parse', 'main')).toHaveLength(64);
  });

  test('organizations do not share a mirror, nor do two places of one repository', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    const one = await ensure(mirrors, { key: 'one' });
    const two = await ensure(mirrors, { key: 'two' });
    const elsewhere = await ensure(mirrors, { key: 'one', remote: { url: host.fileUrl(name) } });
    expect(new Set([one.folder, two.folder, elsewhere.folder]).size).toBe(3);
  });
});

describe('when the remote is asked', () => {
  test('once for all who come together, in one process or in several', async () => {
    await host.createRepository(name, { a: '1' });
    const [one, two] = [open(), open()];
    await ensure(open({ cacheDir: join(cacheDir, 'alone') }));
    const once = asked();
    await Promise.all([one, two, one, two].map((mirrors) => ensure(mirrors)));
    expect(asked()).toBe(2 * once);
    await ensure(two);
    expect(asked()).toBe(2 * once);
  });

  test('again after a while, and at once after a push', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    await ensure(mirrors);
    const commit = await host.commit(name, { b: '2' });
    clock += 1_000;
    expect(git((await ensure(mirrors)).folder, 'rev-parse', 'main')).not.toBe(commit);
    await mirrors.markOld({ remote: { url: host.url(name) }, key: 'key' });
    clock += 1;
    expect(git((await ensure(open())).folder, 'rev-parse', 'main')).toBe(commit);
    const before = asked();
    const later = await host.commit(name, { c: '3' });
    clock += 2_001;
    expect(git((await ensure(mirrors)).folder, 'rev-parse', 'main')).toBe(later);
    expect(asked()).toBeGreaterThan(before);
  });

  test('not at all for any age', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    await ensure(mirrors);
    const before = asked();
    clock += dayMs;
    const remote = { url: host.url(name) };
    const signal = AbortSignal.timeout(5_000);
    await mirrors.ensure({ remote, key: 'key', signal, maxAgeMs: Number.POSITIVE_INFINITY });
    expect(asked()).toBe(before);
  });
});

describe('when something fails', () => {
  test('a mirror stays in use for a while when the remote is away, and not for ever', async () => {
    await host.createRepository(name, { a: '1' });
    const front = await startFront();
    const remote = { url: `${front.base}/${name}` };
    const mirrors = open({ staleMs: 60_000 });
    const { folder } = await ensure(mirrors, { remote });
    await front.stop();
    clock += 3_000;
    expect(await ensure(mirrors, { remote })).toEqual({ folder, isStale: true });
    clock += 60_000;
    expect((await failure(ensure(mirrors, { remote }))).kind).toBe('unreachable');
  });

  test('a credential that is refused refuses at once', async () => {
    await host.createRepository(name, { a: '1' }, { auth: login });
    const mirrors = open();
    const url = host.url(name);
    await ensure(mirrors, { remote: { url, credential } });
    clock += 3_000;
    const wrong = { url, credential: { ...credential, secret: 'wrong' } };
    expect((await failure(ensure(mirrors, { remote: wrong }))).kind).toBe('unauthorized');
  });

  test.each([
    ['a private address', { allowPrivateTargets: false }, 'https://127.0.0.1/a/b', 'refused'],
    ['a missing repository', {}, 'absent', 'not_found'],
    ['one of our own folders', {}, 'own', 'not_found'],
    ['another protocol', {}, 'ssh://git@h.example/a/b', 'refused'],
  ])('%s is refused, and nothing is left', async (_, options, place, kind) => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open(options);
    const own = place === 'own' ? (await ensure(mirrors)).folder : '';
    const url = place === 'absent' ? host.url('absent.git') : place === 'own' ? `file://${own}` : place;
    expect((await failure(ensure(mirrors, { remote: { url }, key: 'other' }))).kind).toBe(kind);
    const left = await readdir(join(cacheDir, 'mirrors'), { recursive: true });
    expect(left.filter((entry) => /^[0-9a-f]{64}\/[^/]*\.git$/.test(entry))).toHaveLength(
      place === 'own' ? 1 : 0,
    );
  });

  test('a repository that is too large is refused, and nothing of it is left', async () => {
    await host.createRepository(name, { noise: randomBytes(600_000).toString('hex') });
    const error = await failure(ensure(open({ maxBytes: 300_000 })));
    expect([error.kind, error.message]).toEqual([
      'too_large',
      expect.stringMatching(/too large|larger than/),
    ]);
    const [place = ''] = await readdir(join(cacheDir, 'mirrors'));
    expect(await readdir(join(cacheDir, 'mirrors', place))).toEqual([]);
  });

  test('a mirror whose packs are broken is whole again when it is asked for', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    const { folder } = await ensure(mirrors);
    for (const file of await readdir(join(folder, 'objects/pack'))) {
      await shorten(join(folder, 'objects/pack', file), 10);
    }
    const commit = await host.commit(name, { b: '2' });
    clock += 3_000;
    const next = await ensure(mirrors);
    const copy = join(cacheDir, 'copy');
    execFileSync('git', ['clone', '--quiet', '--bare', '--no-local', next.folder, copy], { stdio: 'ignore' });
    expect(git(copy, 'rev-parse', 'main')).toBe(commit);
    expect(git(copy, 'fsck')).toBe('');
  });

  test('a mirror that was found unreadable is built anew by the next process', async () => {
    await host.createRepository(name, { a: '1' });
    const { folder } = await ensure(open());
    clock += 1;
    await open().markBroken({ remote: { url: host.url(name) }, key: 'key' });
    clock += 1;
    expect((await ensure(open())).folder).not.toBe(folder);
    await writeFile(join(folder, '../state.json'), '');
    expect(git((await ensure(open())).folder, 'fsck')).toBe('');
  });

  test('what a killed fetch leaves does not stop the next one', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    const { folder } = await ensure(mirrors);
    for (const left of [
      'packed-refs.lock',
      'HEAD.lock',
      'refs/heads/main.lock',
      'objects/pack/tmp_pack_abc',
    ]) {
      await mkdir(join(folder, left, '..'), { recursive: true });
      await writeFile(join(folder, left), 'half');
    }
    const commit = await host.commit(name, { b: '2' });
    clock += 3_000;
    const next = await ensure(mirrors);
    expect(next.folder).toBe(folder);
    expect(git(folder, 'rev-parse', 'main')).toBe(commit);
    expect(await readdir(join(folder, 'objects/pack'))).not.toContain('tmp_pack_abc');
  });

  test('who stops waiting does not stop the others, and closing stops all', async () => {
    let isAsked = false;
    const silent = createServer(() => {
      isAsked = true;
    });
    servers.push(silent);
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const remote = { url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/a/b.git` };
    const mirrors = open();
    const gone = new AbortController();
    const first = ensure(mirrors, { remote, signal: gone.signal });
    const second = ensure(mirrors, { remote });
    await expect.poll(() => isAsked, { timeout: 5_000 }).toBe(true);
    gone.abort(new Error('gone'));
    await expect(first).rejects.toThrow('gone');
    const closed = expect(second).rejects.toThrow('the service stops');
    await mirrors.close();
    await closed;
  });
});

describe('the sweep', () => {
  const mirrorFolders = async () => (await readdir(join(cacheDir, 'mirrors'))).length;

  test('a mirror goes when nobody has used it for long, and comes back when it is wanted', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    const { folder } = await ensure(mirrors);
    clock += 13 * dayMs;
    await mirrors.sweep();
    expect(await mirrorFolders()).toBe(1);
    clock += 2 * dayMs;
    await mirrors.sweep();
    expect(await mirrorFolders()).toBe(0);
    expect((await ensure(mirrors)).folder).not.toBe(folder);
  });

  test('the one that was not used for longest goes when there is too little room, and what is in use stays', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open({ maxTotalBytes: 1 });
    const old = await ensure(mirrors, { key: 'old' });
    clock += 3 * 60 * 60_000;
    const used = await ensure(mirrors, { key: 'new' });
    await mirrors.sweep();
    expect(await mirrorFolders()).toBe(1);
    expect(git(used.folder, 'rev-parse', 'main')).toHaveLength(40);
    await expect(readdir(old.folder)).rejects.toThrow();
  });

  test('what was replaced or left behind goes, but not at once', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    const { folder } = await ensure(mirrors);
    clock += 1;
    await mirrors.markBroken({ remote: { url: host.url(name) }, key: 'key' });
    clock += 1;
    const anew = await ensure(mirrors);
    await mkdir(join(cacheDir, 'mirrors/half-removed'));
    await mirrors.sweep();
    expect(await mirrorFolders()).toBe(1);
    expect(await repositories(folder)).toHaveLength(2);
    clock += 3 * 60 * 60_000;
    await mirrors.sweep();
    expect(await repositories(anew.folder)).toEqual([anew.folder.split('/').at(-1)]);
  });

  test('many packs become one', async () => {
    await host.createRepository(name, { a: '1' });
    const mirrors = open();
    const { folder } = await ensure(mirrors);
    const packs = async () =>
      (await readdir(join(folder, 'objects/pack'))).filter((file) => file.endsWith('.pack')).length;
    // As many fetches would take long, the packs are made here.
    for (let index = 0; index < 21; index += 1) {
      const blob = execFileSync('git', ['--git-dir', folder, 'hash-object', '-w', '--stdin'], {
        input: `${index}`,
      });
      const pack = join(folder, 'objects/pack/pack');
      execFileSync('git', ['--git-dir', folder, 'pack-objects', '--quiet', pack], { input: blob });
    }
    expect(await packs()).toBe(22);
    await mirrors.sweep();
    expect(await packs()).toBe(1);
    expect(git(folder, 'fsck', '--no-dangling')).toBe('');
  });
});
