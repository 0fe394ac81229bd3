import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createGit, type GitOptions } from '../../src/git/git.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { shorten } from './shorten.ts';

let host: GitHost;
let cacheDir: string;
let count = 0;

beforeAll(async () => {
  host = await startGitHost();
});
afterAll(() => host.close());
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'git-cache-'));
});
afterEach(() => rm(cacheDir, { recursive: true, force: true }));

const gitWith = (options: Partial<GitOptions> = {}) =>
  createGit({ cacheDir, allowPrivateTargets: true, ...options });
const newName = () => `repository-${++count}.git`;
const paths = (tree: { entries: { path: string }[] }) => tree.entries.map((entry) => entry.path);

describe('inspect', () => {
  test('names the default branch, its commit and every branch', async () => {
    const name = newName();
    await host.createRepository(name, { a: '1' }, { branch: 'trunk' });
    const side = await host.commit(name, { b: '2' }, { branch: 'side/one' });
    const trunk = await host.git(name, ['rev-parse', 'trunk']);
    for (const url of [host.url(name), host.fileUrl(name)]) {
      const refs = await gitWith().inspect({ url });
      expect(refs.defaultBranch).toBe('trunk');
      expect(refs.headCommit).toBe(trunk);
      expect(Object.fromEntries(refs.branches)).toEqual({ trunk, 'side/one': side });
    }
  });

  test('an empty repository has no head and no branches', async () => {
    const name = newName();
    await host.createRepository(name, {});
    const refs = await gitWith().inspect({ url: host.url(name) });
    expect(refs).toEqual({ defaultBranch: null, headCommit: null, branches: new Map() });
  });
});

describe('tree', () => {
  test.each(['url', 'fileUrl'] as const)('lists and reads the default branch over %s', async (kind) => {
    const name = newName();
    await host.createRepository(name, { 'README.md': 'hello', 'src/ä.ts': 'export {};\n' });
    const tree = await gitWith().tree({ url: host[kind](name) });
    expect(tree.branch).toBe('main');
    expect(tree.commit).toBe(await host.git(name, ['rev-parse', 'main']));
    expect(tree.entries).toEqual([
      { path: 'README.md', size: 5, kind: 'file' },
      { path: 'src/ä.ts', size: 11, kind: 'file' },
    ]);
    expect((await tree.read('src/ä.ts', 11)).toString()).toBe('export {};\n');
  });

  test('lists another branch by its name', async () => {
    const name = newName();
    await host.createRepository(name, { a: '1' });
    await host.commit(name, { only: 'here' }, { branch: 'feature/x' });
    const tree = await gitWith().tree({ url: host.url(name) }, { branch: 'feature/x' });
    expect([tree.branch, paths(tree)]).toEqual(['feature/x', ['only']]);
  });

  test('uses HEAD itself when it is on no branch', async () => {
    const name = newName();
    await host.createRepository(name, { a: '1' });
    const first = await host.git(name, ['rev-parse', 'main']);
    await host.commit(name, { b: '2' });
    await host.git(name, ['update-ref', '--no-deref', 'HEAD', first]);
    const tree = await gitWith().tree({ url: host.url(name) });
    expect([tree.branch, tree.commit, paths(tree)]).toEqual(['HEAD', first, ['a']]);
  });

  test('reads a SHA-256 repository', async () => {
    const name = newName();
    await host.createRepository(name, { a: 'new hash' }, { objectFormat: 'sha256' });
    const tree = await gitWith().tree({ url: host.url(name) });
    expect(tree.commit).toHaveLength(64);
    expect((await tree.read('a', 100)).toString()).toBe('new hash');
  });

  test('asks only for the head when that is already in the cache, also from another process', async () => {
    const name = newName();
    await host.createRepository(name, { a: '1' });
    const remote = { url: host.url(name) };
    await gitWith().tree(remote);
    const before = host.requests.length;
    await gitWith().inspect(remote);
    const perInspect = host.requests.length - before;
    const tree = await gitWith().tree(remote);
    expect(host.requests.length - before).toBe(2 * perInspect);
    expect((await tree.read('a', 10)).toString()).toBe('1');
  });

  test('sees a new head, while a tree of the old one stays readable', async () => {
    const name = newName();
    await host.createRepository(name, { a: 'old' });
    const git = gitWith();
    const old = await git.tree({ url: host.url(name) });
    const commit = await host.commit(name, { a: 'new', b: '' });
    const fresh = await git.tree({ url: host.url(name) });
    expect(fresh.commit).toBe(commit);
    expect(paths(fresh)).toEqual(['a', 'b']);
    expect((await fresh.read('a', 10)).toString()).toBe('new');
    expect((await old.read('a', 10)).toString()).toBe('old');
  });

  test('many calls at once share one fetch within a process and one cache between processes', async () => {
    const name = newName();
    await host.createRepository(name, { a: '1' });
    const remote = { url: host.url(name) };
    const [one, two] = [gitWith(), gitWith()];
    const trees = await Promise.all([one, one, one, two, two].map((git) => git.tree(remote)));
    for (const tree of trees) expect((await tree.read('a', 10)).toString()).toBe('1');
    expect(await snapshots()).toHaveLength(1);
    expect(await readdir(join(cacheDir, 'incoming'))).toEqual([]);
    const asked = host.requests.filter(
      (line) => line === `GET /${name}/info/refs?service=git-upload-pack`,
    ).length;
    expect(asked).toBeLessThanOrEqual(5 + 2);
  });

  test.each([
    ['emptied', (pack: string) => shorten(pack, 0)],
    ['lost', (pack: string) => rm(pack)],
  ])('fetches again when the packs in the cache are %s', async (_, damage) => {
    const name = newName();
    await host.createRepository(name, { a: 'whole' });
    const old = await gitWith().tree({ url: host.url(name) });
    const [folder = ''] = await snapshots();
    for (const pack of await readdir(join(folder, 'objects/pack')))
      await damage(join(folder, 'objects/pack', pack));
    await expect(old.read('a', 10)).rejects.toMatchObject({ kind: 'failed' });
    const tree = await gitWith().tree({ url: host.url(name) });
    expect((await tree.read('a', 10)).toString()).toBe('whole');
  });

  test('a damaged copy that nobody has read yet is fetched again at once', async () => {
    const name = newName();
    await host.createRepository(name, { a: 'whole' });
    await gitWith().tree({ url: host.url(name) });
    const [folder = ''] = await snapshots();
    await rm(join(folder, 'HEAD'));
    const tree = await gitWith().tree({ url: host.url(name) });
    expect((await tree.read('a', 10)).toString()).toBe('whole');
  });

  test('snapshots of older heads and abandoned ones leave the cache after a while', async () => {
    const name = newName();
    await host.createRepository(name, { a: '1' });
    let time = Date.now();
    const git = gitWith({ now: () => time });
    await git.tree({ url: host.url(name) });
    await host.commit(name, { a: '2' });
    await git.tree({ url: host.url(name) });
    expect(await snapshots()).toHaveLength(2);
    time += 2 * 3_600_000;
    await host.commit(name, { a: '3' });
    const tree = await git.tree({ url: host.url(name) });
    expect((await snapshots()).map((folder) => folder.split('/').at(-1))).toEqual([tree.commit]);
  });

  test('the oldest snapshots leave a cache that is too full', async () => {
    const [first, second] = [newName(), newName()];
    for (const name of [first, second]) await host.createRepository(name, { a: name });
    let time = Date.now();
    const git = gitWith({ now: () => time, maxCacheBytes: 1 });
    await git.tree({ url: host.url(first) });
    time += 2 * 3_600_000;
    const tree = await git.tree({ url: host.url(second) });
    expect((await snapshots()).map((folder) => folder.split('/').at(-1))).toEqual([tree.commit]);
  });
});

describe('hostile trees', () => {
  test('odd names are kept as they are, and those nobody could use are left out', async () => {
    const name = newName();
    await host.createRepository(name, {
      'new\nline': '1',
      '"quoted" \'x\'': '2',
      '-c': '3',
      'a\tb': '4',
      link: { link: '/etc/passwd' },
    });
    const stream = [
      'commit refs/heads/main\ncommitter T <t@example.com> now\ndata 1\nx\nfrom refs/heads/main^0\n',
      'M 100644 inline "bad\\377\\376"\ndata 1\nx\n',
      `M 160000 ${'1'.repeat(40)} sub\n\ndone\n`,
    ].join('');
    await host.git(name, ['fast-import', '--quiet', '--date-format=now'], Buffer.from(stream));
    const blob = await host.git(name, ['hash-object', '-w', '--stdin'], Buffer.from('evil'));
    const inner = await host.git(name, ['mktree'], Buffer.from(`100644 blob ${blob}\tpasswd\n`));
    const listing = await host.git(name, ['ls-tree', 'main']);
    const outside = ['..', '.git'].map((part) => `040000 tree ${inner}\t${part}\n`).join('');
    const root = await host.git(name, ['mktree', '--missing'], Buffer.from(`${listing}\n${outside}`));
    const commit = await host.git(name, [
      '-c',
      'user.name=T',
      '-c',
      'user.email=t@example.com',
      'commit-tree',
      '-m',
      'x',
      root,
    ]);
    await host.git(name, ['update-ref', 'refs/heads/main', commit]);

    const tree = await gitWith().tree({ url: host.url(name) });
    expect(Object.fromEntries(tree.entries.map((entry) => [entry.path, entry.kind]))).toEqual({
      'new\nline': 'file',
      '"quoted" \'x\'': 'file',
      '-c': 'file',
      'a\tb': 'file',
      link: 'link',
      sub: 'submodule',
    });
    expect((await tree.read('new\nline', 10)).toString()).toBe('1');
    expect((await tree.read('-c', 10)).toString()).toBe('3');
    await expect(tree.read('link', 100)).rejects.toMatchObject({ kind: 'refused' });
    await expect(tree.read('sub', 100)).rejects.toMatchObject({ kind: 'refused' });
    await expect(tree.read('../passwd', 100)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(tree.read('absent', 100)).rejects.toMatchObject({ kind: 'not_found' });
  });

  test('a file larger than the reader takes is refused', async () => {
    const name = newName();
    await host.createRepository(name, { a: '12345' });
    const tree = await gitWith().tree({ url: host.url(name) });
    await expect(tree.read('a', 4)).rejects.toMatchObject({ kind: 'too_large' });
    expect(await tree.read('a', 5)).toHaveLength(5);
  });

  test('a repository above the byte limit is cut off and leaves nothing behind', async () => {
    const name = newName();
    const noise = randomBytes(600_000).toString('base64');
    await host.createRepository(name, { one: noise, two: noise.toUpperCase(), three: noise.toLowerCase() });
    for (const url of [host.url(name), host.fileUrl(name)]) {
      await expect(gitWith({ maxBytes: 1_048_576 }).tree({ url })).rejects.toMatchObject({
        kind: 'too_large',
      });
    }
    expect(await snapshots()).toEqual([]);
    expect(await readdir(join(cacheDir, 'incoming'))).toEqual([]);
  });

  test('a repository with too many files is refused', async () => {
    const name = newName();
    await host.createRepository(name, { a: '', b: '', c: '' });
    await expect(gitWith({ maxEntries: 2 }).tree({ url: host.url(name) })).rejects.toMatchObject({
      kind: 'too_large',
    });
    expect((await gitWith({ maxEntries: 3 }).tree({ url: host.url(name) })).entries).toHaveLength(3);
  });

  test('a tree that names itself over and over is refused', async () => {
    const name = newName();
    await host.createRepository(name, {});
    let object = await host.git(name, ['hash-object', '-w', '--stdin'], Buffer.from('x'));
    for (let level = 0; level < 12; level += 1) {
      const kind = level === 0 ? '100644 blob' : '040000 tree';
      const lines = Array.from({ length: 16 }, (_, index) => `${kind} ${object}\tentry${index}\n`).join('');
      object = await host.git(name, ['mktree'], Buffer.from(lines));
    }
    const commit = await host.git(name, [
      '-c',
      'user.name=T',
      '-c',
      'user.email=t@example.com',
      'commit-tree',
      '-m',
      'x',
      object,
    ]);
    await host.git(name, ['update-ref', 'refs/heads/main', commit]);
    await expect(gitWith({ maxEntries: 1000 }).tree({ url: host.url(name) })).rejects.toMatchObject({
      kind: 'too_large',
    });
    expect(await snapshots()).toEqual([]);
  });
});

async function snapshots(): Promise<string[]> {
  const root = join(cacheDir, 'snapshots');
  const keys = await readdir(root).catch(() => []);
  const folders = await Promise.all(
    keys.map(async (key) => (await readdir(join(root, key))).map((commit) => join(root, key, commit))),
  );
  return folders.flat();
}
