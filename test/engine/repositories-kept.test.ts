import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BootRepository } from '../../src/engine/protocol.ts';
import { createRepositories } from '../../src/engine/repositories.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { createApp, git, openApp, openStage, soon } from './repository-stage.ts';
import type { Workshop } from './workshop.ts';

let host: GitHost;
beforeAll(async () => {
  host = await startGitHost();
  await createApp(host);
});
afterAll(() => host.close());

/** Every file below a folder with its kind, mode and bytes. */
function snapshot(folder: string, below = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(Buffer.from(join(folder, below)), {
    encoding: 'latin1' as BufferEncoding,
  })) {
    if (below === '' && name === '.git') continue;
    const path = join(below, name);
    const file = Buffer.from(join(folder, path), 'latin1');
    const status = lstatSync(file);
    if (status.isSymbolicLink()) found[path] = `link ${readlinkSync(file)}`;
    else if (status.isDirectory()) Object.assign(found, snapshot(folder, path));
    else found[path] = `${(status.mode & 0o111) !== 0 ? 'x' : '-'} ${readFileSync(file).toString('base64')}`;
  }
  return found;
}

describe('work that is kept outside', () => {
  async function lose(workshop: Workshop, repository: BootRepository, folder: string) {
    const before = snapshot(folder);
    rmSync(folder, { recursive: true });
    rmSync(join(workshop.context.folder, 'engine'), { recursive: true });
    const after = createRepositories(workshop.context);
    const outcome = await after.prepare({ ...repository, restore: true }, soon());
    return { before, after, outcome };
  }

  test('is put back byte for byte: commits, untracked, deleted, renamed, modes, links, odd names', async () => {
    const { workshop, repositories, repository, folder } = await openApp(host);
    git(workshop, folder, 'switch', '-qc', 'füür/work');
    writeFileSync(join(folder, 'committed'), 'committed\n');
    git(workshop, folder, 'add', '.');
    git(workshop, folder, 'commit', '-qm', 'on a branch');
    renameSync(join(folder, 'src/a.txt'), join(folder, 'src/b.txt'));
    rmSync(join(folder, 'old name'));
    chmodSync(join(folder, 'README.md'), 0o755);
    symlinkSync('../nowhere', join(folder, 'src/link'));
    writeFileSync(join(folder, 'binary'), Buffer.from([0, 255, 10, 13]));
    for (const name of ['new\nline', 'ta\tb "quoted"', 'ünïcode ✓', '-dash', ':(exclude)x', '*.txt'])
      writeFileSync(join(folder, name), name);
    writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x66, 0xff])]), 'not utf-8');
    const head = git(workshop, folder, 'rev-parse', 'HEAD');
    const [captured] = await repositories.capture();
    expect(captured?.shadowProblem).toBe(null);

    const { before, after, outcome } = await lose(workshop, repository, folder);
    expect(outcome).toBe('restored');
    expect(Object.keys(before)).toHaveLength(12);
    expect(snapshot(folder)).toEqual(before);
    expect(git(workshop, folder, 'rev-parse', 'HEAD')).toBe(head);
    expect(git(workshop, folder, 'diff', '--cached', '--name-only')).toBe('');
    const [state] = await after.states();
    expect(state).toEqual({ ...captured, shadowProblem: null });
  });

  test('is uploaded only when it differs from what the gateway has', async () => {
    const { workshop, repositories, folder } = await openApp(host);
    const puts = () => workshop.gateway.requests.filter(({ method }) => method === 'PUT').length;
    writeFileSync(join(folder, 'a'), 'a');
    await repositories.capture();
    await createRepositories(workshop.context).capture();
    expect(puts()).toBe(1);
    writeFileSync(join(folder, 'a'), 'b');
    await repositories.capture();
    expect(puts()).toBe(2);
    await createRepositories({ ...workshop.context, sandboxId: 'another' }).capture();
    expect(puts()).toBe(3);
  });

  test('is nothing but the base when nothing has changed, and nothing when nothing was kept', async () => {
    const { workshop, repositories, repository, folder } = await openApp(host);
    await repositories.capture();
    expect(workshop.gateway.shadows.get(repository.id)?.body.length).toBe(0);
    expect((await lose(workshop, repository, folder)).outcome).toBe('restored');
    workshop.gateway.shadows.clear();
    expect((await lose(workshop, repository, folder)).outcome).toBe('cloned');
  });

  test('of a HEAD on no branch, behind the base, is put back', async () => {
    await host.commit('app', { second: 'second\n' });
    const { workshop, repositories, repository, folder } = await openApp(host);
    git(workshop, folder, 'checkout', '-q', '--detach', 'HEAD~1');
    writeFileSync(join(folder, 'README.md'), 'changed\n');
    const [captured] = await repositories.capture();
    const { before, after } = await lose(workshop, repository, folder);
    expect(snapshot(folder)).toEqual(before);
    expect(await after.states()).toEqual([captured]);
    expect(captured).toMatchObject({ branch: null, shadowProblem: null });
  });

  test('of an empty repository is put back', async () => {
    const { workshop, repositories } = await openStage();
    const repository = workshop.bind({ name: 'empty', url: host.url('empty') });
    await repositories.prepare(repository, soon());
    const folder = join(workshop.home, 'workspaces/empty');
    writeFileSync(join(folder, 'a'), 'a');
    await repositories.capture();
    const { before } = await lose(workshop, repository, folder);
    expect(snapshot(folder)).toEqual(before);
  });

  test('survives that the branch it began with was deleted and rewritten at the host', async () => {
    await host.createRepository('moved', { a: 'a\n' });
    const { workshop, repositories } = await openStage();
    const repository = workshop.bind({ name: 'moved', url: host.url('moved'), branch: 'main' });
    await repositories.prepare(repository, soon());
    const folder = join(workshop.home, 'workspaces/moved');
    writeFileSync(join(folder, 'b'), 'b\n');
    await repositories.capture();
    await host.git('moved', ['update-ref', '-d', 'refs/heads/main']);
    await host.commit('moved', { c: 'c\n' }, { branch: 'other' });
    const { before, outcome } = await lose(workshop, repository, folder);
    expect({ outcome, files: snapshot(folder) }).toEqual({ outcome: 'restored', files: before });
  });

  test('leaves repositories inside the work tree as they are', async () => {
    const { workshop, repositories, repository, folder } = await openApp(host);
    await host.createRepository('library', { lib: 'lib\n' });
    git(
      workshop,
      folder,
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      host.fileUrl('library'),
      'lib',
    );
    git(workshop, folder, 'commit', '-qm', 'library');
    mkdirSync(join(folder, 'nested'));
    git(workshop, join(folder, 'nested'), 'init', '-q');
    writeFileSync(join(folder, 'nested/x'), 'x');
    writeFileSync(join(folder, 'y'), 'y');
    const [state] = await repositories.capture();
    expect(state?.shadowProblem).toMatch(/nested\/ is a repository of its own/);
    expect(state?.diff).toContain('+Subproject commit');
    await lose(workshop, repository, folder);
    expect(readFileSync(join(folder, 'y'), 'utf8')).toBe('y');
    expect(readdirSync(join(folder, 'lib'))).toEqual([]);
  });

  test('is not kept when it is too large, and the user is told', async () => {
    const { workshop, repositories, repository, folder } = await openApp(host);
    writeFileSync(join(folder, 'small'), 'small\n');
    writeFileSync(join(folder, 'large'), '');
    truncateSync(join(folder, 'large'), 65 * 1_048_576);
    const [state] = await repositories.capture();
    expect(state?.shadowProblem).toMatch(/large is too large \(65.0 MiB\)/);
    expect(state?.diff).toContain('Binary files /dev/null and b/large differ\n');
    rmSync(join(folder, 'large'));
    await lose(workshop, repository, folder);
    expect(existsSync(join(folder, 'small'))).toBe(true);
  });

  test('is uploaded again when the gateway did not take it', async () => {
    const { workshop, repositories, repository, folder } = await openApp(host);
    writeFileSync(join(folder, 'a'), 'a');
    workshop.gateway.fail({ times: 2, status: 503 });
    await repositories.capture();
    expect(workshop.gateway.shadows.get(repository.id)?.body.length).toBeGreaterThan(0);
    expect(workshop.reports.at(-1)).toMatchObject({ type: 'repositories.changed' });
  });
});
