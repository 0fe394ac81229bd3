import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { withDeadline } from './deadline.ts';
import { type GitSettings, gitEnvironment, localSettings } from './environment.ts';
import { GitError } from './failure.ts';
import { hiddenRefs } from './mirror-fetch.ts';

/** One request of git's smart HTTP, as a repository on disk answers it. */
type Serving = {
  service: 'upload-pack' | 'receive-pack';
  folder: string;
  /** The body of the request; null for the first request, which only lists what there is. */
  input: AsyncIterable<Buffer> | null;
  /** Gets the body of the answer and is left open. */
  output: Writable;
  /** The client's wish for a version of the protocol, as its header says it. */
  protocol?: string | null;
  signal: AbortSignal;
};

export type Serve = (serving: Serving) => Promise<void>;

type ServeOptions = {
  /** Belongs to git alone; several processes may share it. */
  cacheDir: string;
  timeoutMs?: number;
  /** The largest repository there is, and the largest push that is taken. */
  maxBytes?: number;
};

const gibibyte = 1_073_741_824;

/**
 * Answers a client that may send anything. Whatever happens, no process is left when this settles. It fails with
 * `failed` when the repository cannot be read and with `refused` when the request is at fault.
 */
export function createServe(options: ServeOptions): Serve {
  const { timeoutMs = 60 * 60_000, maxBytes = 4 * gibibyte } = options;
  const cacheDir = resolve(options.cacheDir);
  const home = join(cacheDir, 'home');

  return async function serve(serving) {
    await mkdir(home, { recursive: true, mode: 0o700 });
    await withDeadline({ signal: serving.signal, timeoutMs }, async (signal) => {
      signal.throwIfAborted();
      // Its own group, so that git's helpers die with it.
      const child = spawn('/bin/sh', ['-c', limitedGit(maxBytes), 'git', ...argumentsOf(serving)], {
        cwd: home,
        env: environmentOf(serving, { home, cacheDir, maxBytes }),
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true,
      });
      const stop = () => killGroup(child);
      if (needsTitle(serving)) serving.output.write(titles[serving.service]);
      signal.addEventListener('abort', stop, { once: true });
      try {
        await converse(child, { ...serving, stop });
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      } finally {
        signal.removeEventListener('abort', stop);
      }
    });
  };
}

function argumentsOf({ service, folder, input }: Serving): string[] {
  const strict = service === 'upload-pack' ? ['--strict'] : [];
  return [service, '--stateless-rpc', ...strict, ...(input === null ? ['--advertise-refs'] : []), folder];
}

/** What the first answer begins with, for all versions of the protocol but the second. */
const titles = {
  'upload-pack': '001e# service=git-upload-pack\n0000',
  'receive-pack': '001f# service=git-receive-pack\n0000',
} as const;

function needsTitle({ input, protocol }: Serving): boolean {
  return input === null && !/(?:^|:)version=2(?:$|:)/.test(protocol ?? '');
}

function environmentOf(
  { service, protocol }: Serving,
  { home, cacheDir, maxBytes }: { home: string; cacheDir: string; maxBytes: number },
): Record<string, string> {
  const environment = gitEnvironment({
    home,
    ceiling: cacheDir,
    path: process.env.PATH ?? '/usr/bin:/bin',
    settings: service === 'upload-pack' ? readSettings : writeSettings(maxBytes),
  });
  const isWellFormed = protocol && /^[a-z0-9=.:-]{1,100}$/.test(protocol);
  return isWellFormed ? { ...environment, GIT_PROTOCOL: protocol } : environment;
}

const readSettings: GitSettings = [
  ...localSettings,
  ['uploadpack.allowFilter', 'true'],
  ['uploadpack.hideRefs', hiddenRefs],
];

/** The hooks of a repository that is pushed to are its owner's, so they run. */
function writeSettings(maxBytes: number): GitSettings {
  return [
    ...localSettings.filter(([name]) => name !== 'core.hooksPath'),
    ['receive.maxInputSize', String(maxBytes)],
    ['receive.hideRefs', hiddenRefs],
  ];
}

/** Other work of the machine goes first: a clone is long, and many may be asked for at once. */
function limitedGit(maxBytes: number): string {
  const blocks = Math.ceil(maxBytes / 512);
  const kibibytes = Math.ceil((2 * maxBytes + 2 * gibibyte) / 1024);
  const limits = `command ulimit -f ${blocks}; command ulimit -v ${kibibytes} 2>/dev/null; ulimit -c 0`;
  return `${limits}; exec nice -n 5 git "$@"`;
}

async function converse(
  child: ChildProcess,
  { input, output, stop }: Serving & { stop: () => void },
): Promise<void> {
  const { stdin, stdout, stderr } = child;
  if (!stdin || !stdout || !stderr) throw new GitError('failed', 'git could not be started.');
  const problems: unknown[] = [];
  const fail = (error: unknown) => {
    problems.push(error);
    stop();
  };
  void feed(input, { stdin, fail });
  const [code, words] = await Promise.all([end(child), lastWords(stderr), copy(stdout, { output, fail })]);
  if (problems.length > 0) throw problems[0];
  if (code !== 0) throw failure(words);
}

/** Fails only when the client's body cannot be read; git is free to end before it has heard all of it. */
async function feed(
  input: AsyncIterable<Buffer> | null,
  { stdin, fail }: { stdin: Writable; fail: (error: unknown) => void },
): Promise<void> {
  stdin.on('error', () => {});
  try {
    for await (const chunk of input ?? []) {
      if (!stdin.writable) return;
      if (!stdin.write(chunk)) await drained(stdin);
    }
    stdin.end();
  } catch (error) {
    fail(error);
  }
}

function drained(stdin: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stdin.off('drain', done).off('close', done);
      resolve();
    };
    stdin.on('drain', done).on('close', done);
    if (stdin.destroyed) done();
  });
}

/** Fails only when the client does not listen any more; how git has ended is said by its exit. */
async function copy(
  stdout: Readable,
  { output, fail }: { output: Writable; fail: (error: unknown) => void },
): Promise<void> {
  await pipeline(stdout, output, { end: false }).catch((error: unknown) => {
    if (output.destroyed) fail(error);
  });
}

function end(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => reject(new GitError('failed', 'git could not be started.', { cause })));
    // Helpers that outlive git would keep its output open for ever.
    child.once('exit', () => killGroup(child));
    child.once('close', (code) => resolve(code));
  });
}

const maxErrorBytes = 16_384;

async function lastWords(stderr: Readable): Promise<string> {
  let words = Buffer.alloc(0);
  for await (const chunk of stderr) words = Buffer.concat([words, chunk]).subarray(-maxErrorBytes);
  return words.toString();
}

const brokenCopy =
  /is corrupt|is empty|loose object|packfile .* (?:cannot be accessed|does not match|is truncated|is far too short)|inflate|bad object|bad tree object|missing (?:blob|tree|commit)|not (?:appear to be )?a git repository|index file .* is too small|unable to (?:read|find) /i;

function failure(words: string): GitError {
  const cause = new Error(words.trim() || 'git failed without a word');
  return brokenCopy.test(words)
    ? new GitError('failed', 'The copy of the repository cannot be read; try again.', { cause })
    : new GitError('refused', 'git did not take the request.', { cause });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
