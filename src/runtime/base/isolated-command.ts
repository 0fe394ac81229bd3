import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';

const KEPT_LINES = 15;
const programFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** A tree could not be built; the message says what to do, or what the program that failed has said. */
export class BaseBuildError extends Error {
  override name = 'BaseBuildError';
}

export type IsolatedCommand = {
  command: string[];
  /** The tree to run it in; without one it sees the machine's. */
  tree?: string;
  onLine?: (line: string) => void;
  signal: AbortSignal;
};

/** Runs a command whose mounts and processes end with it, however it ends. */
export async function runIsolated({ command, tree, onLine, signal }: IsolatedCommand): Promise<void> {
  signal.throwIfAborted();
  const [program = ''] = command;
  // It also ends when this process is killed, or it would go on in a folder that the next build takes for its own.
  const own = ['--pdeathsig', 'KILL', 'unshare', '--mount', '--pid', '--fork', '--kill-child'];
  const args = tree
    ? [...own, `--mount-proc=${path.join(tree, 'proc')}`, 'chroot', tree, ...command]
    : [...own, '--mount-proc', ...command];
  const child = spawn('setpriv', args, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
  const stop = () => child.kill('SIGKILL');
  signal.addEventListener('abort', stop);
  const ended = once(child, 'close');
  const lines: string[] = [];
  for (const output of [child.stdout, child.stderr]) {
    createInterface({ input: output }).on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      onLine?.(line);
    });
  }
  const [status] = await ended.finally(() => signal.removeEventListener('abort', stop));
  signal.throwIfAborted();
  if (status !== 0) throw new BaseBuildError(`${program} has failed:\n${lines.join('\n')}`);
}

/** Where a program is, if it is installed. */
export function findProgram(name: string): string | null {
  return (
    searchedFolders()
      .map((folder) => path.join(folder, name))
      .find(isExecutable) ?? null
  );
}

/** A person's search path often lacks the folders of programs for root. */
function searchedFolders(): string[] {
  const own = (process.env.PATH ?? '').split(':').filter((folder) => path.isAbsolute(folder));
  return [...new Set([...own, ...programFolders])];
}

function environment(): Record<string, string> {
  const passed = ['http_proxy', 'https_proxy', 'no_proxy', 'DEBOOTSTRAP_DIR'];
  const given = passed.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...Object.fromEntries(given),
    PATH: searchedFolders().join(':'),
    LC_ALL: 'C.UTF-8',
    DEBIAN_FRONTEND: 'noninteractive',
  };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
