import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createGitRoute, type GitRouteOptions } from '../../src/gateway/git.ts';
import type { RefUpdate } from '../../src/gateway/push-commands.ts';
import { createMirrors, type MirrorOptions, type Mirrors } from '../../src/git/mirror.ts';
import type { GitRemote } from '../../src/git/remote.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { anotherSecret, type Stage, startStage } from './stage.ts';

const repositoryId = '01890a5d-ac96-774b-bcce-b302099a8057';
const login = { username: 'robot', password: 'correct-horse-battery-staple' };
const credential = { username: login.username, secret: login.password };

let host: GitHost;
let work: string;
let name: string;
let stage: Stage;
let mirrors: Mirrors;
let remote: GitRemote;
let count = 0;
let pushes: { repositoryId: string; refs: RefUpdate[] }[];
let limits: GitRouteOptions['limits'];
let mirrorOptions: Partial<MirrorOptions>;

beforeAll(async () => {
  host = await startGitHost();
});
afterAll(() => host.close());
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'gateway-work-'));
  name = `repository-${++count}.git`;
  pushes = [];
  limits = {};
  mirrorOptions = {};
  remote = { url: host.url(name) };
});
afterEach(async () => {
  await stage?.close();
  await mirrors?.close();
  await rm(work, { recursive: true, force: true });
});

async function open(): Promise<void> {
  stage = await startStage({
    routes({ folder, log }) {
      const cacheDir = join(folder, 'git');
      mirrors = createMirrors({ cacheDir, allowPrivateTargets: true, log, ...mirrorOptions });
      return [
        createGitRoute({
          cacheDir,
          mirrors,
          log,
          allowPrivateTargets: true,
          resolveRepository: async (identity, id) =>
            identity.sandboxId === stage.identity.sandboxId && id === repositoryId
              ? { remote, key: `${identity.organizationId}/${id}` }
              : null,
          onPushed: async (push) => void pushes.push(push),
          limits,
        }),
      ];
    },
  });
}

const clone = (folder = 'clone', ...args: string[]) =>
  stage.git(['clone', '--quiet', ...args, stage.gitUrl(repositoryId), folder], { cwd: work });
const inClone = (args: string[], folder = 'clone') => stage.git(args, { cwd: join(work, folder) });
const fetches = () => host.requests.filter((line) => line.includes(name)).length;

async function commitInClone(file: string, text: string, branch = 'main'): Promise<string> {
  await inClone(['checkout', '--quiet', '-B', branch]);
  await appendFile(join(work, 'clone', file), text);
  await inClone(['add', '--all']);
  await inClone(['commit', '--quiet', '-m', file]);
  return (await inClone(['rev-parse', 'HEAD'])).output;
}

describe('fetch', () => {
  test('a repository is cloned with every version of the protocol', async () => {
    await host.createRepository(name, { 'a.txt': 'one' });
    await host.commit(name, { 'b.txt': 'two' }, { branch: 'side' });
    await host.git(name, ['tag', 'v1', 'main']);
    await open();
    for (const version of ['0', '1', '2']) {
      const { code, errors } = await clone(version, '-c', `protocol.version=${version}`);
      expect([code, errors]).toEqual([0, '']);
      expect(readFileSync(join(work, version, 'a.txt'), 'utf8')).toBe('one');
      const { output } = await inClone(['for-each-ref', '--format=%(refname)'], version);
      expect(output.split('\n')).toEqual([
        'refs/heads/main',
        'refs/remotes/origin/HEAD',
        'refs/remotes/origin/main',
        'refs/remotes/origin/side',
        'refs/tags/v1',
      ]);
    }
  });

  test('a second clone asks the git host nothing, and one after a while asks only what is new', async () => {
    let clock = Date.now();
    mirrorOptions = { now: () => clock };
    await host.createRepository(name, { a: '1' });
    await open();
    expect((await clone('one')).code).toBe(0);
    const first = fetches();
    const both = await Promise.all([clone('two'), clone('three', '--depth=1')]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    expect(fetches()).toBe(first);
    clock += 3_000;
    expect((await clone('four', '--filter=blob:none')).code).toBe(0);
    expect(host.requests.slice(-2).filter((line) => line.startsWith('POST'))).toHaveLength(1);
    expect(fetches()).toBe(first + 2);
    const commit = await host.commit(name, { b: '2' });
    clock += 3_000;
    await inClone(['pull', '--quiet'], 'one');
    expect((await inClone(['rev-parse', 'HEAD'], 'one')).output).toBe(commit);
  });

  test('many clones at once fetch once', async () => {
    await host.createRepository(name, { a: '1' });
    await open();
    const all = await Promise.all(Array.from({ length: 6 }, (_, index) => clone(`clone-${index}`)));
    expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    const packs = host.requests.filter((line) => line === `POST /${name}/git-upload-pack`);
    // One to list the refs, and two for the fetch.
    expect(packs.length).toBeLessThanOrEqual(3);
  });

  test('a credential is added outside, and nothing of it is seen inside', async () => {
    await host.createRepository(name, { a: 'closed' }, { auth: login });
    remote = { url: host.url(name), credential };
    await open();
    expect((await clone()).code).toBe(0);
    expect(readFileSync(join(work, 'clone/a'), 'utf8')).toBe('closed');
    expect(readFileSync(join(work, 'clone/.git/config'), 'utf8')).not.toContain(login.password);
    expect(stage.logged.join('')).not.toContain(login.password);
  });

  test('a wrong credential refuses with a sentence, also when there is a mirror', async () => {
    await host.createRepository(name, { a: 'closed' }, { auth: login });
    remote = { url: host.url(name), credential };
    mirrorOptions = { freshMs: 0 };
    await open();
    expect((await clone('one')).code).toBe(0);
    const wrong = 'this-one-is-wrong';
    remote = { url: host.url(name), credential: { ...credential, secret: wrong } };
    const { code, errors } = await clone('two');
    expect(code).toBe(128);
    expect(errors).toContain('remote: The git host refused access: the credential is missing or wrong');
    expect(errors + stage.logged.join('')).not.toContain(wrong);
  });

  test('an empty repository is cloned, and a file:// one', async () => {
    await host.createRepository(name, {});
    await open();
    expect((await clone('empty')).code).toBe(0);
    await host.commit(name, { a: 'local' });
    remote = { url: host.fileUrl(name) };
    expect((await clone('local')).code).toBe(0);
    expect(readFileSync(join(work, 'local/a'), 'utf8')).toBe('local');
  });

  test('a mirror that cannot be read is noticed and built anew', async () => {
    await host.createRepository(name, { a: '1' });
    await open();
    expect((await clone('one')).code).toBe(0);
    const { folder } = await mirrors.ensure({
      remote,
      key: `${stage.identity.organizationId}/${repositoryId}`,
      signal: AbortSignal.timeout(5_000),
    });
    await rm(join(folder, 'objects'), { recursive: true });
    expect((await clone('two')).code).toBe(128);
    expect((await clone('three')).code).toBe(0);
  });
});

describe('push', () => {
  test.each(['http', 'file'])(
    'commits reach a remote over %s and are recorded, and the next fetch sees them',
    async (kind) => {
      await host.createRepository(name, { a: '1' }, kind === 'http' ? { auth: login } : {});
      remote = kind === 'http' ? { url: host.url(name), credential } : { url: host.fileUrl(name) };
      await open();
      await clone();
      const before = (await inClone(['rev-parse', 'HEAD'])).output;
      const commit = await commitInClone('b', 'two');
      const push = await inClone(['push', '--quiet', 'origin', 'HEAD:main', 'HEAD:refs/heads/new/one']);
      expect([push.code, push.errors]).toEqual([0, '']);
      expect(await host.git(name, ['rev-parse', 'main'])).toBe(commit);
      const none = '0'.repeat(40);
      expect(pushes).toMatchObject([
        {
          repositoryId,
          refs: [
            { ref: 'refs/heads/main', oldCommit: before, newCommit: commit },
            { ref: 'refs/heads/new/one', oldCommit: none, newCommit: commit },
          ],
        },
      ]);
      await clone('two');
      expect((await inClone(['rev-parse', 'HEAD'], 'two')).output).toBe(commit);
      expect((await inClone(['push', '--quiet', 'origin', ':new/one'])).code).toBe(0);
      expect(pushes.at(-1)?.refs).toEqual([
        { ref: 'refs/heads/new/one', oldCommit: commit, newCommit: none },
      ]);
    },
  );

  test('a large push is streamed', async () => {
    await host.createRepository(name, { a: '1' });
    await open();
    await clone();
    const noise = Array.from({ length: 150_000 }, () => Math.random().toString(36)).join('');
    const commit = await commitInClone('large', noise);
    expect((await inClone(['push', '--quiet', 'origin', 'main'])).code).toBe(0);
    expect(await host.git(name, ['rev-parse', 'main'])).toBe(commit);
    expect(pushes).toHaveLength(1);
  });

  test('a ref that the remote does not take is not recorded', async () => {
    await host.createRepository(name, { a: '1' });
    await host.git(name, ['config', 'receive.denyNonFastForwards', 'true']);
    await open();
    await clone();
    await inClone(['commit', '--quiet', '--amend', '--allow-empty', '-m', 'other']);
    const { code, errors } = await inClone(['push', '--force', 'origin', 'main', 'HEAD:refs/heads/side']);
    expect(code).toBe(1);
    expect(errors).toContain('non-fast-forward');
    expect(pushes.flatMap(({ refs }) => refs.map(({ ref }) => ref))).toEqual(['refs/heads/side']);
  });

  test('a credential that may not write is refused with a sentence', async () => {
    await host.createRepository(name, { a: '1' });
    await host.git(name, ['config', 'http.receivepack', 'false']);
    await open();
    await clone();
    await commitInClone('b', 'two');
    const { code, errors } = await inClone(['push', 'origin', 'main']);
    expect(code).toBe(128);
    expect(errors).toContain('remote: The git host refused the push');
    expect(pushes).toEqual([]);
  });

  test('a credential that was revoked is renewed, for a fetch and for a push', async () => {
    await host.createRepository(name, { a: '1' }, { auth: login });
    const renewed: GitRemote = { url: host.url(name), credential };
    const renew = async () => {
      remote = renewed;
      return credential;
    };
    const revoked = { ...renewed, credential: { ...credential, secret: 'revoked', renew } };
    remote = revoked;
    await open();
    expect((await clone()).code).toBe(0);
    const commit = await commitInClone('b', '2');
    remote = revoked;
    expect(await inClone(['push', '--quiet', 'origin', 'main'])).toMatchObject({ code: 0, errors: '' });
    expect(await host.git(name, ['rev-parse', 'main'])).toBe(commit);
  });

  test('a host that redirects to the same address with .git is found there', async () => {
    await host.createRepository(name, { a: '1' });
    host.redirect(name.slice(0, -4), host.url(name));
    remote = { url: host.url(name.slice(0, -4)) };
    await open();
    expect((await clone()).code).toBe(0);
    const commit = await commitInClone('b', 'two');
    expect((await inClone(['push', '--quiet', 'origin', 'main'])).code).toBe(0);
    expect(await host.git(name, ['rev-parse', 'main'])).toBe(commit);
  });

  test('an ssh remote is refused with a sentence that names what to use', async () => {
    remote = { url: 'ssh://git@host.example/a/b' };
    await open();
    const { code, errors } = await clone();
    expect(code).toBe(128);
    expect(errors).toContain('remote: The git URL must start with https://');
  });
});

describe('refusals', () => {
  const first = (service: string, id = repositoryId) => ({ path: `/git/${id}/info/refs?service=${service}` });
  const typed = {
    'content-type': 'application/x-git-upload-pack-request',
    'git-protocol': 'version=2',
  };

  test("another sandbox's repository and an unknown one are the same 404", async () => {
    await host.createRepository(name, { a: '1' });
    await open();
    const foreign = await stage.git(['ls-remote', stage.gitUrl(repositoryId)], { secret: anotherSecret });
    const unknown = await stage.git(['ls-remote', stage.gitUrl(repositoryId.replace('0', '1'))]);
    for (const { code, errors } of [foreign, unknown]) {
      expect(code).toBe(128);
      expect(errors).toContain('remote: This repository does not exist, or is not bound to this workspace.');
    }
    expect(fetches()).toBe(0);
  });

  test('a host that is away refuses a first clone with a sentence', async () => {
    remote = { url: 'http://127.0.0.1:1/a/b.git' };
    await open();
    const { status, headers, body } = await stage.call(first('git-upload-pack'));
    expect([status, headers['content-type'], body.toString()]).toEqual([
      502,
      'text/plain; charset=utf-8',
      'The git host cannot be reached.\n',
    ]);
  });

  test('hostile requests are refused, and the gateway goes on', async () => {
    await host.createRepository(name, { a: '1' });
    limits = { fetchRequestBytes: 100_000 };
    await open();
    // A list that git listens to in silence until it ends.
    const endless = `0011command=fetch0001${`0032have ${'a'.repeat(40)}\n`.repeat(1_000_000)}`;
    const bomb = gzipSync(endless);
    const post = { method: 'POST', path: `/git/${repositoryId}/git-upload-pack` };
    const statuses = await Promise.all(
      [
        first('git-upload-archive'),
        first('git-upload-pack;id'),
        { path: `/git/../git/${repositoryId}/info/refs?service=git-upload-pack` },
        { path: `/git/%2e%2e/${repositoryId}/info/refs?service=git-upload-pack` },
        { ...post, headers: { ...typed, 'content-encoding': 'br' }, body: Buffer.from('x') },
        { ...post, headers: { ...typed, 'content-encoding': 'gzip' }, body: Buffer.from('not gzip') },
        {
          ...post,
          headers: { ...typed, 'content-encoding': 'gzip' },
          body: bomb,
        },
        { ...post, headers: typed, body: Buffer.from(endless.slice(0, 200_000)) },
      ].map(async (request) => (await stage.call(request)).status),
    );
    expect(statuses).toEqual([403, 403, 404, 404, 415, 400, 413, 413]);
    expect((await clone()).code).toBe(0);
  });

  test('a body that never ends is cut off, and no process is left', async () => {
    await host.createRepository(name, { a: '1' });
    limits = { fetchRequestBytes: 1_000_000 };
    await open();
    const socket = await stage.dial();
    socket.on('error', () => {});
    const head = [
      `POST /git/${repositoryId}/git-upload-pack HTTP/1.1`,
      `Authorization: Bearer ${stage.secret}`,
      'Content-Type: application/x-git-upload-pack-request',
      'Transfer-Encoding: chunked',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    const line = `0032want ${'a'.repeat(40)}\n`;
    const chunk = `${(line.length * 100).toString(16)}\r\n${line.repeat(100)}\r\n`;
    const timer = setInterval(() => socket.writable && socket.write(chunk), 1);
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(timer);
    expect((await clone()).code).toBe(0);
  });

  test('a client that goes away while it is served takes its process with it', async () => {
    await host.createRepository(name, { a: '1' });
    await open();
    await clone();
    const socket = await stage.dial();
    const head = [
      `POST /git/${repositoryId}/git-upload-pack HTTP/1.1`,
      `Authorization: Bearer ${stage.secret}`,
      'Content-Type: application/x-git-upload-pack-request',
      'Git-Protocol: version=2',
      'Content-Length: 1000',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n0014command=ls-refs\n`);
    const mine = () => processesBelow(stage.folder);
    await expect.poll(mine, { timeout: 5_000 }).toBe(1);
    socket.destroy();
    await expect.poll(mine, { timeout: 5_000 }).toBe(0);
  });
});

/** Processes of git whose home is below a folder. */
function processesBelow(folder: string): number {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
      } catch {
        return false;
      }
    }).length;
}
