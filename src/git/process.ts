import { type ChildProcess, spawn } from 'node:child_process';
import { describeFailure, GitError } from './failure.ts';

type GitRun = {
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Its reason is what the run fails with. */
  signal: AbortSignal;
  maxOutputBytes: number;
  /** Kernel limits for git and all its children: the largest file written, and the memory of each process. */
  maxFileBytes: number;
  maxMemoryBytes: number;
};

/** Runs git to its end and returns its output. Whatever happens, no process of its group is left when this settles. */
export async function runGit(run: GitRun): Promise<Buffer> {
  run.signal.throwIfAborted();
  // Its own group, so that git's helpers die with it.
  const child = spawn('/bin/sh', ['-c', limitedGit(run), 'git', ...run.args], {
    cwd: run.cwd,
    env: run.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const stop = () => killGroup(child);
  run.signal.addEventListener('abort', stop, { once: true });
  try {
    const [ended, stdout, stderr] = await Promise.all([
      end(child),
      collect(child.stdout, { maxBytes: run.maxOutputBytes, onOverflow: stop }),
      collect(child.stderr, { maxBytes: maxErrorBytes }),
    ]);
    run.signal.throwIfAborted();
    if (stdout.overflowed) throw new GitError('too_large', 'The repository is too large for this service.');
    if (ended.code !== 0) throw describeFailure(`${stderr.bytes.toString()}${signalWords(ended.signal)}`);
    return stdout.bytes;
  } finally {
    run.signal.removeEventListener('abort', stop);
  }
}

const maxErrorBytes = 65_536;

/** The limits stand where the shell knows them; `-v` is missing on some systems, and then only the others hold. */
function limitedGit({ maxFileBytes, maxMemoryBytes }: GitRun): string {
  const blocks = Math.ceil(maxFileBytes / 512);
  const kibibytes = Math.ceil(maxMemoryBytes / 1024);
  return `command ulimit -f ${blocks}; command ulimit -v ${kibibytes} 2>/dev/null; ulimit -c 0; exec git "$@"`;
}

function end(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => reject(new GitError('failed', 'git could not be started.', { cause })));
    // Helpers that outlive git would keep its output open for ever.
    child.once('exit', () => killGroup(child));
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

async function collect(
  stream: NodeJS.ReadableStream,
  { maxBytes, onOverflow }: { maxBytes: number; onOverflow?: () => void },
): Promise<{ bytes: Buffer; overflowed: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  let overflowed = false;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (overflowed) continue;
    size += chunk.length;
    overflowed = size > maxBytes;
    if (overflowed) onOverflow?.();
    else chunks.push(chunk);
  }
  return { bytes: Buffer.concat(chunks), overflowed };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The shell's `exec` leaves git as the process that the signal ended. */
function signalWords(signal: NodeJS.Signals | null): string {
  return signal === 'SIGXFSZ' ? ' File too large' : signal === null ? '' : ` ended by ${signal}`;
}
