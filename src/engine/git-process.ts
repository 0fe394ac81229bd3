import { type ChildProcess, spawn } from 'node:child_process';

export type GitRun = {
  args: string[];
  cwd: string;
  env: Record<string, string>;
  /** Its reason is what the run fails with. */
  signal: AbortSignal;
  input?: Buffer | string;
  /** Gets the output as it comes, which is then not kept; false ends the run early, and that is no failure. */
  take?: (chunk: Buffer) => boolean;
};

/** What git said is for the log, and for those who look for known words in it. */
export class GitFailure extends Error {
  override name = 'GitFailure';
  stderr: string;

  constructor(stderr: string) {
    super(`git failed: ${stderr.slice(-500).trim()}`);
    this.stderr = stderr;
  }
}

/** Runs git to its end and returns its output. No process of its group is left when this settles. */
export async function runGit(run: GitRun): Promise<Buffer> {
  run.signal.throwIfAborted();
  // Its own group, so that git's helpers and the filters of the repository die with it.
  const child = spawn('git', run.args, {
    cwd: run.cwd,
    env: run.env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  let isEndedEarly = false;
  const stop = () => killGroup(child);
  run.signal.addEventListener('abort', stop, { once: true });
  // Who does not read its input to the end says in another way whether that is a failure.
  child.stdin.on('error', () => {});
  child.stdin.end(run.input ?? '');
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    if (isEndedEarly) return;
    size += chunk.length;
    if (run.take) isEndedEarly = !run.take(chunk);
    else if (size <= maxOutputBytes) chunks.push(chunk);
    if (isEndedEarly || (!run.take && size > maxOutputBytes)) stop();
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = `${stderr}${chunk}`.slice(-maxErrorCharacters);
  });
  try {
    const code = await end(child);
    run.signal.throwIfAborted();
    if (isEndedEarly) return Buffer.alloc(0);
    if (!run.take && size > maxOutputBytes) throw new GitFailure('more output than expected');
    if (code !== 0) throw new GitFailure(stderr);
    return Buffer.concat(chunks);
  } finally {
    run.signal.removeEventListener('abort', stop);
  }
}

const maxOutputBytes = 64 * 1_048_576;
const maxErrorCharacters = 16_384;

function end(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => reject(new GitFailure(`git could not be started: ${cause.message}`)));
    // Helpers that outlive git would keep its output open for ever.
    child.once('exit', () => killGroup(child));
    child.once('close', (code) => resolve(code));
  });
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has ended by itself.
  }
}
