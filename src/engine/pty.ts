import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { killProcesses, TREE_VARIABLE } from './process-tree.ts';
import { EngineRefusal } from './refusal.ts';

export type PtySize = { cols: number; rows: number };

/** A program in a terminal of its own. */
export type Pty = {
  output: Readable;
  /** Resolves when the bytes are on their way; refuses when the program has not read earlier ones for a while. */
  write(data: Buffer): Promise<void>;
  /** Programs in the terminal are told by a signal, maybe of rows and columns one after the other. */
  resize(size: PtySize): Promise<void>;
  /** The exit code, once everything the program wrote has been read. */
  ended: Promise<number>;
  /** Ends the program and everything it has started. */
  kill(): Promise<void>;
};

type PtyOptions = {
  /** Null for an interactive shell. */
  command: string | null;
  size: PtySize;
  cwd: string;
  environment: Record<string, string>;
  /** Marks every process of this terminal. */
  tree: string;
};

/**
 * Opens a terminal through util-linux' `script`, which makes a real one without any native code of ours. The first shell
 * in it sets the size before anything can ask for it, and says by a pipe which terminal it is in.
 */
export async function openPty(options: PtyOptions): Promise<Pty> {
  // By its place: the search path is the user's.
  const child = spawn('/usr/bin/script', ['-qfec', firstShell, '/dev/null'], {
    cwd: options.cwd,
    env: ptyEnvironment(options),
    stdio: ['pipe', 'pipe', 'ignore', 'pipe'],
    detached: true,
  });
  const ended = end(child);
  try {
    const { session, device } = await readReport(child);
    return {
      output: child.stdout as Readable,
      ended,
      write: (data) => write(child.stdin as Writable, data),
      async resize(size) {
        if (await setSize(device, size)) return;
        // It may just be ending, and then its size matters no more.
        const hasEnded = await Promise.race([ended.then(() => true), delay(endingMs, false, { ref: false })]);
        if (!hasEnded) throw new EngineRefusal(409, 'The terminal takes no new size.');
      },
      async kill() {
        const isAlive = child.exitCode === null && child.signalCode === null;
        // The number of a session that has ended may belong to another one by now.
        await killProcesses({
          variable: TREE_VARIABLE,
          value: options.tree,
          ...(isAlive && { session }),
        });
        await Promise.race([ended, delay(killMs, null, { ref: false })]);
      },
    };
  } catch (error) {
    await killProcesses({ variable: TREE_VARIABLE, value: options.tree });
    throw error;
  }
}

/**
 * A login shell reads the profile, which on most systems sets the search path anew; the one of the workspace is put
 * before it again. `script` starts all this with the shell in SHELL, which must be one that understands it.
 */
const firstShell = [
  'stty sane iutf8 rows "$REPLICA_PTY_ROWS" cols "$REPLICA_PTY_COLS"',
  'echo "$$ $(tty)" >&3',
  'exec 3>&-',
  `exec /bin/bash -lc '${[
    'PATH="$REPLICA_PTY_PATH:$PATH"',
    'command=$REPLICA_PTY_COMMAND',
    `unset \${!REPLICA_PTY_*}`,
    'export SHELL=/bin/bash',
    'if [ -n "$command" ]; then exec /bin/bash -c "$command"; fi',
    'exec /bin/bash -i',
  ].join('; ')}'`,
].join('; ');

function ptyEnvironment({ environment, command, size, tree }: PtyOptions): Record<string, string> {
  return {
    ...environment,
    TERM: 'xterm-256color',
    SHELL: '/bin/sh',
    [TREE_VARIABLE]: tree,
    REPLICA_PTY_COMMAND: command ?? '',
    REPLICA_PTY_PATH: environment.PATH ?? '',
    REPLICA_PTY_ROWS: String(size.rows),
    REPLICA_PTY_COLS: String(size.cols),
  };
}

async function readReport(child: ChildProcess): Promise<{ session: number; device: string }> {
  const pipe = child.stdio[3] as Readable;
  const failed = once(child, 'error').then(([cause]) => {
    throw new EngineRefusal(500, `No terminal can be opened in the workspace: ${(cause as Error).message}.`);
  });
  const first = once(pipe, 'data', { signal: AbortSignal.timeout(startMs) });
  try {
    const [line] = await Promise.race([first, failed, once(pipe, 'end')]);
    const [, session, device] = /^(\d+) (\/dev\/\S+)\n$/.exec(String(line ?? '')) ?? [];
    if (session !== undefined && device !== undefined) return { session: Number(session), device };
  } catch (error) {
    if (error instanceof EngineRefusal) throw error;
  } finally {
    pipe.destroy();
  }
  throw new EngineRefusal(500, 'No terminal can be opened in the workspace: its shell does not start.');
}

async function write(stdin: Writable, data: Buffer): Promise<void> {
  if (stdin.writableNeedDrain) {
    await once(stdin, 'drain', { signal: AbortSignal.timeout(writeMs) }).catch(() => {
      throw new EngineRefusal(409, 'The program in the terminal does not read its input.');
    });
  }
  stdin.write(data);
}

async function setSize(device: string, { cols, rows }: PtySize): Promise<boolean> {
  const args = ['-F', device, 'rows', String(rows), 'cols', String(cols)];
  return promisify(execFile)('stty', args, { timeout: resizeMs }).then(
    () => true,
    () => false,
  );
}

function end(child: ChildProcess): Promise<number> {
  // Input for a program that has ended is lost, as in every terminal.
  child.stdin?.on('error', () => {});
  return new Promise((resolve) => {
    child.once('error', () => resolve(127));
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}

const startMs = 10_000;
const writeMs = 5_000;
const resizeMs = 5_000;
const endingMs = 1_000;
const killMs = 5_000;
