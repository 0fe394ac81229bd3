import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';

/** A real git host on the loopback address: bare repositories in a temporary folder behind `git http-backend`. */
export type GitHost = {
  /** Makes a repository, with a first commit unless `files` is empty. */
  createRepository(name: string, files: Files, options?: RepositoryOptions): Promise<void>;
  /** Adds a commit with these files on top of a branch and returns it. */
  commit(name: string, files: Files, options?: { branch?: string }): Promise<string>;
  /** Runs git on a repository where it lies and returns its output, for what the other functions cannot express. */
  git(name: string, args: string[], input?: Buffer): Promise<string>;
  /** Answers every request below one name with a redirect to another URL. */
  redirect(name: string, target: string): void;
  url(name: string): string;
  fileUrl(name: string): string;
  path(name: string): string;
  /** The method and path of every request so far, with the query string. */
  requests: string[];
  close(): Promise<void>;
};

/** Path to text; a text under `{ link }` is the target of a symbolic link. */
export type Files = Record<string, string | { link: string }>;

type RepositoryOptions = {
  branch?: string;
  auth?: { username: string; password: string };
  objectFormat?: 'sha1' | 'sha256';
};

export async function startGitHost(): Promise<GitHost> {
  const root = await mkdtemp(join(tmpdir(), 'git-host-'));
  const auth = new Map<string, string>();
  const redirects = new Map<string, string>();
  const requests: string[] = [];
  const children = new Set<ChildProcess>();

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://host');
    requests.push(`${request.method} ${url.pathname}${url.search}`);
    const path = decodeURIComponent(url.pathname);
    const name = [...auth.keys(), ...redirects.keys()].find((one) => path.startsWith(`/${one}/`)) ?? '';
    const target = redirects.get(name);
    const expected = auth.get(name);
    if (target !== undefined) {
      response
        .writeHead(301, { location: `${target}${url.pathname.slice(name.length + 1)}${url.search}` })
        .end();
    } else if (expected !== undefined && request.headers.authorization !== expected) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
    } else {
      const child = runBackend({ root, url, request });
      children.add(child);
      child.once('close', () => children.delete(child));
      answer(child, response).catch(() => response.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const path = (name: string) => join(root, name);
  const gitIn = (name: string, args: string[], input?: Buffer) =>
    git(['--git-dir', path(name), ...args], input);

  async function commit(name: string, files: Files, { branch }: { branch?: string } = {}): Promise<string> {
    const ref = `refs/heads/${branch ?? (await gitIn(name, ['symbolic-ref', '--short', 'HEAD']))}`;
    const parent = await gitIn(name, ['for-each-ref', '--format=%(objectname)', ref]);
    const stream = commitStream({ ref, parent, files });
    await gitIn(name, ['fast-import', '--quiet', '--force', '--date-format=now'], stream);
    return gitIn(name, ['rev-parse', ref]);
  }

  return {
    requests,
    path,
    commit,
    git: gitIn,
    url: (name) => `${base}/${name}`,
    fileUrl: (name) => pathToFileURL(path(name)).href,
    redirect: (name, target) => void redirects.set(name, target),
    async createRepository(name, files, { branch = 'main', auth: login, objectFormat = 'sha1' } = {}) {
      const shape = [`--initial-branch=${branch}`, `--object-format=${objectFormat}`];
      await git(['init', '--quiet', '--bare', ...shape, path(name)]);
      await gitIn(name, ['config', 'http.receivepack', 'true']);
      if (login)
        auth.set(name, `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`);
      if (Object.keys(files).length > 0) await commit(name, files);
    },
    async close() {
      server.close();
      server.closeAllConnections();
      for (const child of children) killGroup(child);
      await Promise.all([...children].map((child) => once(child, 'close')));
      await rm(root, { recursive: true, force: true });
    },
  };
}

function runBackend({
  root,
  url,
  request,
}: {
  root: string;
  url: URL;
  request: IncomingMessage;
}): ChildProcess {
  const header = (name: string) => String(request.headers[name] ?? '');
  const child = spawn('git', ['http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    // The backend starts git's own programs, which end together with it as one group.
    detached: true,
    env: {
      ...cleanEnvironment(),
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: header('content-type'),
      HTTP_CONTENT_ENCODING: header('content-encoding'),
      HTTP_GIT_PROTOCOL: header('git-protocol'),
      REMOTE_USER: 'tester',
      REMOTE_ADDR: '127.0.0.1',
    },
  });
  // A client that goes away closes the pipe under the backend, which is no concern of the host.
  child.stdin?.on('error', () => {});
  if (child.stdin) request.pipe(child.stdin);
  request.on('close', () => request.complete || killGroup(child));
  return child;
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has ended by itself.
  }
}

/** Copies a CGI answer: header lines, an empty line, and the body as it comes. */
async function answer(child: ChildProcess, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => {
    if (!response.writableFinished) killGroup(child);
    gone.abort();
  });
  let head: Buffer | null = Buffer.alloc(0);
  for await (const chunk of (child.stdout ?? []) as AsyncIterable<Buffer>) {
    if (head === null) {
      if (!response.write(chunk)) await once(response, 'drain', { signal: gone.signal });
      continue;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) continue;
    const fields = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(/: (.*)/s, 2));
    for (const [name = '', value = ''] of fields) {
      if (name.toLowerCase() === 'status') response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.write(head.subarray(end + 4));
    head = null;
  }
  if (head !== null) response.statusCode = 500;
  response.end();
}

function commitStream({ ref, parent, files }: { ref: string; parent: string; files: Files }): Buffer {
  const parts = [`commit ${ref}\ncommitter Tester <tester@example.com> now\n`, data('change'), '\n'];
  if (parent !== '') parts.push(`from ${parent}\n`);
  for (const [name, content] of Object.entries(files)) {
    const [mode, text] = typeof content === 'string' ? ['100644', content] : ['120000', content.link];
    parts.push(`M ${mode} inline ${JSON.stringify(name)}\n`, data(text), '\n');
  }
  return Buffer.from(`${parts.join('')}\ndone\n`);
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}`;
}

async function git(args: string[], input?: Buffer): Promise<string> {
  const child = spawn('git', args, { stdio: ['pipe', 'pipe', 'pipe'], env: cleanEnvironment() });
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  const closed = once(child, 'close');
  const [output, errors, [code]] = await Promise.all([buffer(child.stdout), buffer(child.stderr), closed]);
  if (code !== 0) throw new Error(`git ${args.join(' ')} failed: ${errors}`);
  return output.toString().trim();
}

function cleanEnvironment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    HOME: '/nonexistent',
  };
}
