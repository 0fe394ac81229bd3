import { once } from 'node:events';
import { chown, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GitError } from '../../src/git/failure.ts';
import { createGit, type GitOptions } from '../../src/git/git.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';

let host: GitHost;
let cacheDir: string;
const servers: Server[] = [];
const login = { username: 'robot', password: 'correct-horse-battery-staple' };
const credential = { username: login.username, secret: login.password };
const isLinux = process.platform === 'linux';

beforeAll(async () => {
  host = await startGitHost();
  await host.createRepository('open.git', { a: 'open' });
  await host.createRepository('closed.git', { a: 'closed' }, { auth: login });
  await host.createRepository('empty.git', {});
});
afterAll(() => host.close());
beforeEach(async () => {
  cacheDir = await mkdtemp(join(tmpdir(), 'git-cache-'));
});
afterEach(async () => {
  await rm(cacheDir, { recursive: true, force: true });
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

const gitWith = (options: Partial<GitOptions> = {}) =>
  createGit({ cacheDir, allowPrivateTargets: true, ...options });

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function failure(work: Promise<unknown>): Promise<GitError> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(GitError);
  return error as GitError;
}

describe('failures', () => {
  test.each([
    ['a missing repository', () => host.url('absent.git'), {}, 'not_found'],
    ['a missing local repository', () => host.fileUrl('absent.git'), {}, 'not_found'],
    ['a local folder that is no repository', () => pathToFileURL(tmpdir()).href, {}, 'not_found'],
    ['a missing branch', () => host.url('open.git'), { branch: 'absent' }, 'missing_branch'],
    [
      'a branch name that is none',
      () => host.url('open.git'),
      { branch: '--upload-pack=x' },
      'missing_branch',
    ],
    ['an empty repository', () => host.url('empty.git'), {}, 'empty'],
    ['no credential', () => host.url('closed.git'), {}, 'unauthorized'],
    ['a closed port', () => 'http://127.0.0.1:1/a/b', {}, 'unreachable'],
    ['a protocol that is not allowed', () => 'ssh://127.0.0.1/a/b', {}, 'refused'],
  ] as [string, () => string, { branch?: string }, string][])(
    '%s fails with its own kind and a sentence without paths',
    async (_, url, options, kind) => {
      const error = await failure(gitWith().tree({ url: url() }, options));
      expect(error.kind).toBe(kind);
      expect(error.message).toMatch(/^[A-Z].*\.$/);
      expect(error.message).not.toContain(cacheDir);
      expect(error.message).not.toContain(host.path(''));
    },
  );

  test.each([301, 302, 307, 308])(
    'a redirect with %i is refused, and its target is never asked',
    async (status) => {
      const asked: string[] = [];
      const target = await serve((request, response) => {
        asked.push(request.url ?? '');
        response.end();
      });
      const base = await serve((_, response) =>
        response.writeHead(status, { location: `${target}/x` }).end(),
      );
      expect((await failure(gitWith().inspect({ url: `${base}/a/b` }))).kind).toBe('refused');
      expect(asked).toEqual([]);
    },
  );

  test('a repository whose page redirects to the same address with .git is found there', async () => {
    await host.createRepository('moved.git', { a: '1' });
    host.redirect('moved', host.url('moved.git'));
    expect((await gitWith().tree({ url: host.url('moved') })).entries).toHaveLength(1);
  });

  test.each([403, 429, 500, 503])('the status %i is told apart from a missing repository', async (status) => {
    const base = await serve((_, response) => response.writeHead(status).end());
    const kind = status === 403 ? 'unauthorized' : 'unreachable';
    expect((await failure(gitWith().inspect({ url: `${base}/a/b` }))).kind).toBe(kind);
  });

  test('a web page is no repository', async () => {
    const base = await serve((_, response) => response.end('<html>welcome</html>'));
    expect((await failure(gitWith().inspect({ url: `${base}/a/b` }))).kind).toBe('not_found');
  });

  test('a host that never answers ends in a time-out, and no process is left', async () => {
    const base = await serve(() => {});
    const url = `${base}/never/answers`;
    expect((await failure(gitWith({ timeoutMs: 400 }).tree({ url }))).kind).toBe('timeout');
    expect(await commandLinesWith(url)).toEqual([]);
  });

  test('an abort ends a call with the reason of the caller, and no process is left', async () => {
    const controller = new AbortController();
    const reason = new Error('the service stops');
    const base = await serve(() => controller.abort(reason));
    const url = `${base}/is/aborted`;
    await expect(gitWith().tree({ url }, { signal: controller.signal })).rejects.toBe(reason);
    expect(await commandLinesWith(url)).toEqual([]);
  });

  test('an endless answer is cut off', async () => {
    const chunk = Buffer.alloc(65_536, `0040${'1'.repeat(40)} refs/heads/aaaaaaa\n`);
    const base = await serve((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' });
      response.write('001e# service=git-upload-pack\n0000');
      const more = () => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    });
    const error = await failure(gitWith({ timeoutMs: 5_000 }).inspect({ url: `${base}/end/less` }));
    expect(['too_large', 'timeout']).toContain(error.kind);
    expect(await commandLinesWith(`${base}/end/less`)).toEqual([]);
  });
});

describe('private targets', () => {
  test.each([
    'https://127.0.0.1/a/b',
    'https://[::1]/a/b',
    'https://0x7f.1/a/b',
    'https://localhost/a/b',
    'http://git.example/a/b',
    'file:///srv/a',
  ])('%s is refused when the operator does not allow it', async (url) => {
    expect((await failure(gitWith({ allowPrivateTargets: false }).inspect({ url }))).kind).toBe('refused');
  });

  test('a public name that resolves to a private address is refused before anything is sent', async () => {
    const before = host.requests.length;
    const port = new URL(host.url('')).port;
    const git = gitWith({ allowPrivateTargets: false, lookup: async () => ['8.8.8.8', '127.0.0.1'] });
    expect((await failure(git.inspect({ url: `https://git.example:${port}/open.git` }))).kind).toBe(
      'refused',
    );
    expect(host.requests.length).toBe(before);
  });

  test('git connects to the address that was checked and asks no resolver of its own', async () => {
    const port = new URL(host.url('')).port;
    const git = gitWith({ lookup: async () => ['127.0.0.1'] });
    const tree = await git.tree({ url: `http://no-such-host.invalid:${port}/open.git` });
    expect((await tree.read('a', 10)).toString()).toBe('open');
  });

  test('the cache of the service is no repository for anyone', async () => {
    const git = gitWith();
    await git.tree({ url: host.url('closed.git'), credential });
    const snapshots = join(cacheDir, 'snapshots');
    const [key = ''] = await readdir(snapshots);
    const [commit = ''] = await readdir(join(snapshots, key));
    const url = pathToFileURL(join(snapshots, key, commit)).href;
    expect((await failure(git.inspect({ url }))).kind).toBe('not_found');
  });
});

describe('local repositories', () => {
  test('the configuration of a repository around the cache has no effect', async () => {
    await host.createRepository('around.git', { a: '1' });
    await host.git('around.git', ['config', 'url.http://127.0.0.1:1/.insteadOf', host.url('')]);
    const inside = gitWith({ cacheDir: join(host.path('around.git'), 'data/cache') });
    expect((await inside.inspect({ url: host.url('open.git') })).defaultBranch).toBe('main');
  });

  test.skipIf(process.getuid?.() !== 0)('a repository that belongs to another user is read', async () => {
    await host.createRepository('foreign.git', { a: 'theirs' });
    for (const path of [host.path('foreign.git'), join(host.path('foreign.git'), 'config')])
      await chown(path, 65534, 65534);
    const tree = await gitWith().tree({ url: host.fileUrl('foreign.git') });
    expect((await tree.read('a', 10)).toString()).toBe('theirs');
  });

  test('commands in the configuration of a repository are not run', async () => {
    await host.createRepository('armed.git', { a: '1' });
    const marker = join(cacheDir, 'marker');
    for (const name of [
      'uploadpack.packObjectsHook',
      'core.fsmonitor',
      'core.alternateRefsCommand',
      'core.sshCommand',
    ]) {
      await host.git('armed.git', ['config', name, `touch ${marker}; false`]);
    }
    await gitWith().tree({ url: host.fileUrl('armed.git') });
    await expect(stat(marker)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('credentials', () => {
  test('the right one opens a repository, a wrong one does not, even when the content is in the cache', async () => {
    const git = gitWith();
    const url = host.url('closed.git');
    const tree = await git.tree({ url, credential });
    expect((await tree.read('a', 10)).toString()).toBe('closed');
    for (const other of [null, { username: 'robot', secret: 'mistaken-secret' }]) {
      const error = await failure(git.tree({ url, credential: other }));
      expect(error.kind).toBe('unauthorized');
      expect(error.message).not.toContain('mistaken-secret');
    }
  });

  test('nothing of it is on the disk afterwards', async () => {
    await gitWith().tree({ url: host.url('closed.git'), credential });
    const files = (await readdir(cacheDir, { withFileTypes: true, recursive: true })).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) {
      const bytes = await readFile(join(file.parentPath, file.name));
      for (const spelling of spellings) expect(bytes.includes(spelling), file.name).toBe(false);
    }
  });

  test.skipIf(!isLinux)('nothing of it is in the command line of any process', async () => {
    const seen: string[] = [];
    const headers: (string | undefined)[] = [];
    const base = await serve((request, response) => {
      headers.push(request.headers.authorization);
      commandLinesWith('').then((lines) => {
        seen.push(...lines);
        response.writeHead(404).end();
      });
    });
    await failure(gitWith().tree({ url: `${base}/look/here`, credential }));
    expect(headers).toContain(
      `Basic ${Buffer.from(`${credential.username}:${credential.secret}`).toString('base64')}`,
    );
    expect(seen.some((line) => line.includes(`${base}/look/here`))).toBe(true);
    for (const spelling of spellings) expect(seen.filter((line) => line.includes(spelling))).toEqual([]);
  });

  test('nothing of it is in an error or its cause', async () => {
    const base = await serve((_, response) => response.writeHead(500).end());
    const error = await failure(gitWith().inspect({ url: `${base}/a/b`, credential }));
    const everything = `${error.message} ${error.stack} ${(error.cause as Error).message}`;
    for (const spelling of spellings) expect(everything).not.toContain(spelling);
  });

  const spellings = [
    credential.secret,
    Buffer.from(`${credential.username}:${credential.secret}`).toString('base64'),
  ];
});

/** Command lines of living processes that contain a text; nothing can be seen where there is no /proc. */
async function commandLinesWith(text: string): Promise<string[]> {
  if (!isLinux) return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.map((line) => line.replaceAll('\0', ' ')).filter((line) => line !== '' && line.includes(text));
}
