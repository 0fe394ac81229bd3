import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { inspectRepository } from '../../src/engine/git-inspect.ts';
import { createRepositories } from '../../src/engine/repositories.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { createApp, git, openApp, openStage, soon } from './repository-stage.ts';

let host: GitHost;
beforeAll(async () => {
  host = await startGitHost();
  await createApp(host);
});
afterAll(() => host.close());

describe('preparing a repository', () => {
  test('clones through the gateway, with the address people know as origin', async () => {
    const { workshop, repositories, repository, folder } = await openApp(host);
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('hello\n');
    expect(git(workshop, folder, 'config', 'remote.origin.url')).toBe(repository.url);
    expect(git(workshop, folder, 'rev-parse', 'refs/replica/base')).toBe(
      git(workshop, folder, 'rev-parse', 'HEAD'),
    );
    writeFileSync(join(folder, 'README.md'), 'mine\n');
    expect(await repositories.prepare(repository, soon())).toBe('kept');
    expect(readFileSync(join(folder, 'README.md'), 'utf8')).toBe('mine\n');
    expect(readdirSync(join(workshop.context.folder, 'engine/clones'))).toEqual([]);
  });

  test('checks out the branch that was asked for', async () => {
    await host.commit('app', { 'branch.txt': 'b\n' }, { branch: 'side/one' });
    const { repositories } = await openApp(host, { branch: 'side/one' });
    expect((await repositories.states())[0]?.branch).toBe('side/one');
  });

  test('takes an empty repository, also with a branch', async () => {
    const { workshop, repositories } = await openStage();
    const repository = workshop.bind({ name: 'empty', url: host.url('empty'), branch: 'first' });
    expect(await repositories.prepare(repository, soon())).toBe('cloned');
    writeFileSync(join(workshop.home, 'workspaces/empty/new.txt'), 'a\nb\n');
    const [state] = await repositories.states();
    expect(state).toMatchObject({
      branch: 'first',
      head: null,
      baseCommit: null,
      added: 2,
      shadowProblem: null,
    });
  });

  test('waits for a gateway that is away for a moment', async () => {
    const { workshop, repositories } = await openStage();
    const repository = workshop.bind({ name: 'app', url: host.url('app') });
    workshop.gateway.fail({ times: 1, status: 503 });
    expect(await repositories.prepare(repository, soon())).toBe('cloned');
  });

  test('keeps files that stand in its folder already', async () => {
    const { workshop, repositories } = await openStage();
    const repository = workshop.bind({ name: 'app', url: host.url('app') });
    mkdirSync(join(workshop.home, 'workspaces/app'));
    writeFileSync(join(workshop.home, 'workspaces/app/README.md'), 'mine\n');
    expect(await repositories.prepare(repository, soon())).toBe('cloned');
    const [state] = await repositories.states();
    expect(state).toMatchObject({ added: 1, removed: 1 });
  });

  test.each([
    ['a missing branch', { url: () => host.url('app'), branch: 'nowhere' }, /has no branch nowhere/],
    ['a tag in place of a branch', { url: () => host.url('app'), branch: 'v1' }, /has no branch v1/],
    ['a refused credential', { url: () => host.url('locked'), branch: null }, /credential is missing, wrong/],
    [
      'an unknown repository',
      { url: () => host.url('nothing'), branch: null },
      /does not know the repository/,
    ],
  ])('%s is an error the user understands, and leaves nothing', async (_name, { url, branch }, sentence) => {
    await host.git('app', ['tag', '--force', 'v1', 'main']);
    if (!existsSync(host.path('locked')))
      await host.createRepository('locked', { a: 'a' }, { auth: { username: 'u', password: 'p' } });
    const { workshop, repositories } = await openStage();
    const repository = workshop.bind({ name: 'x', url: url(), branch });
    await expect(repositories.prepare(repository, soon())).rejects.toThrow(sentence);
    expect(readdirSync(join(workshop.home, 'workspaces'))).toEqual([]);
  });

  test('that is given up leaves no half clone', async () => {
    const silent = createServer(() => {});
    silent.listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    const { workshop, repositories } = await openStage();
    const { port } = silent.address() as AddressInfo;
    const repository = workshop.bind({ name: 'x', url: `http://127.0.0.1:${port}/x` });
    const prepared = repositories.prepare(repository, AbortSignal.timeout(300));
    await expect(prepared).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(readdirSync(join(workshop.home, 'workspaces'))).toEqual([]);
  });

  test('remembers the base when a kill came before it was noted', async () => {
    const { workshop, repository, folder } = await openApp(host);
    const base = git(workshop, folder, 'rev-parse', 'HEAD');
    git(workshop, folder, 'commit', '-q', '--allow-empty', '-m', 'more');
    rmSync(join(workshop.context.folder, 'engine/bases.json'));
    const after = createRepositories(workshop.context);
    expect(await after.prepare(repository, soon())).toBe('kept');
    expect((await after.states())[0]?.baseCommit).toBe(base);
  });
});

describe('the state of a repository', () => {
  test('counts committed, uncommitted and untracked work, and not what is ignored', async () => {
    const { workshop, repositories, folder } = await openApp(host);
    writeFileSync(join(folder, 'src/a.txt'), 'one\n2\nthree\n');
    git(workshop, folder, 'commit', '-qam', 'change');
    writeFileSync(join(folder, 'README.md'), 'hello\nworld\n');
    writeFileSync(join(folder, '.gitignore'), 'ignored\n');
    writeFileSync(join(folder, 'ignored'), 'secret\n');
    writeFileSync(join(folder, 'staged'), 'staged\n');
    git(workshop, folder, 'add', 'staged');
    writeFileSync(join(folder, 'picture.png'), Buffer.from([0x89, 0x50, 0, 1, 2, 3]));
    rmSync(join(folder, 'old name'));
    const index = readFileSync(join(folder, '.git/index'));
    const [state] = await repositories.states();
    expect(state).toMatchObject({ branch: 'main', added: 4, removed: 2, isDiffCut: false });
    expect(state?.head).toBe(git(workshop, folder, 'rev-parse', 'HEAD'));
    expect(state?.head).not.toBe(state?.baseCommit);
    for (const text of ['-two\n+2\n', '+world\n', '+staged\n', 'deleted file mode', 'b/picture.png differ\n'])
      expect(state?.diff).toContain(text);
    expect(state?.diff).not.toContain('secret');
    expect(readFileSync(join(folder, '.git/index'))).toEqual(index);
  });

  test('is cut at a line when the diff is huge', async () => {
    const { repositories, folder } = await openApp(host);
    writeFileSync(join(folder, 'big.txt'), `${'0123456789abcde\n'.repeat(250_000)}`);
    const [state] = await repositories.states();
    expect(state).toMatchObject({ added: 250_000, isDiffCut: true });
    expect(state?.diff.length).toBeGreaterThan(1_999_000);
    expect(state?.diff.length).toBeLessThanOrEqual(2_000_000);
    expect(state?.diff.endsWith('\n')).toBe(true);
  });

  test('starts no program that the repository names', async () => {
    const { workshop, repositories, folder } = await openApp(host);
    const proof = join(workshop.home, 'proof');
    const script = join(workshop.home, 'evil.sh');
    writeFileSync(script, `#!/bin/sh\necho "$0" >> ${proof}\nexit 1\n`, { mode: 0o755 });
    writeFileSync(join(folder, '.gitattributes'), '* diff=evil\n');
    const settings = [
      'core.fsmonitor',
      'diff.external',
      'diff.evil.command',
      'diff.evil.textconv',
      'core.pager',
    ];
    for (const name of settings) git(workshop, folder, 'config', name, script);
    for (const hook of ['post-index-change', 'reference-transaction', 'pre-commit', 'fsmonitor-watchman'])
      writeFileSync(join(folder, '.git/hooks', hook), readFileSync(script), { mode: 0o755 });
    git(workshop, folder, 'config', 'diff.noprefix', 'true');
    rmSync(proof, { force: true });
    writeFileSync(join(folder, 'README.md'), 'changed\n');
    const [state] = await repositories.capture();
    expect(state?.diff).toContain('diff --git a/README.md b/README.md');
    expect(existsSync(proof)).toBe(false);
  });

  test.each<[string, (folder: string) => void]>([
    ['deleted', (folder) => rmSync(folder, { recursive: true })],
    ['without .git', (folder) => rmSync(join(folder, '.git'), { recursive: true })],
    ['with a broken HEAD', (folder) => writeFileSync(join(folder, '.git/HEAD'), 'nonsense')],
    ['with a fifo for an index and no objects', breakObjects],
  ])('of a folder that is %s says so and fails nothing', async (_name, damage) => {
    const { repositories, folder } = await openApp(host);
    damage(folder);
    const [state] = await repositories.capture();
    expect(state).toMatchObject({ head: null, diff: '', added: 0 });
    expect(state?.shadowProblem).toMatch(/is not a git repository any more/);
  });

  test('is given up when the repository holds it up, and nothing goes on running', async () => {
    const { workshop, repository, folder } = await openApp(host);
    writeFileSync(join(folder, '.gitattributes'), '* filter=slow\n');
    git(workshop, folder, 'config', 'filter.slow.clean', 'sleep 987654');
    writeFileSync(join(folder, 'README.md'), 'changed\n');
    const signal = AbortSignal.timeout(500);
    const { state } = await inspectRepository({ context: workshop.context, repository, base: null, signal });
    expect(state).toMatchObject({ branch: 'main', diff: '', isDiffCut: true });
    expect(state.shadowProblem).toMatch(/too large to be read in time/);
    expect(globSync('/proc/[0-9]*/cmdline').filter(isSleeping)).toEqual([]);
  });

  test('of a history that was replaced counts everything as new', async () => {
    const { workshop, repositories, folder } = await openApp(host);
    rmSync(join(folder, '.git'), { recursive: true });
    git(workshop, folder, 'init', '-q', '-b', 'fresh');
    const [state] = await repositories.states();
    expect(state).toMatchObject({ branch: 'fresh', head: null, baseCommit: null, added: 5 });
  });
});

function isSleeping(commandFile: string): boolean {
  try {
    return readFileSync(commandFile, 'utf8').includes('987654');
  } catch {
    // It has ended since it was listed.
    return false;
  }
}

function breakObjects(folder: string): void {
  rmSync(join(folder, '.git/objects'), { recursive: true });
  rmSync(join(folder, '.git/index'));
  execFileSync('/usr/bin/mkfifo', [join(folder, '.git/index')]);
}
