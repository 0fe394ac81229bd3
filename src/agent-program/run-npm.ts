import { type ChildProcess, spawn } from 'node:child_process';

/** npm could not do what it was asked for; the message is the end of what it has written. */
export class NpmError extends Error {
  override name = 'NpmError';
  /** As shells have it: 127 when there is no npm. */
  readonly code: number | null;

  constructor(code: number | null, said: string) {
    super(said);
    this.code = code;
  }
}

const LAST_WORDS = 1_500;
const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier'];

/** Runs npm to its end. Whatever happens, no process of its group is left when this settles. */
export async function runNpm(
  args: readonly string[],
  { folder, signal }: { folder: string; signal: AbortSignal },
): Promise<void> {
  signal.throwIfAborted();
  // Whatever the mask of this process is, the users of sandboxes can read what is installed.
  const child = spawn('/bin/sh', ['-c', 'umask 022; exec npm "$@"', 'npm', ...args, ...flags], {
    cwd: folder,
    env: npmEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that the helpers of npm end with it.
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString()).slice(-LAST_WORDS);
    });
  const stop = () => killGroup(child);
  signal.addEventListener('abort', stop, { once: true });
  try {
    const code = await end(child);
    signal.throwIfAborted();
    if (code !== 0) throw new NpmError(code, said.trim());
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function end(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    // Helpers that outlive npm would keep its output open, and write on.
    child.once('exit', () => killGroup(child));
    child.once('close', resolve);
  });
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** What the service holds is nothing for npm. */
function npmEnvironment(): NodeJS.ProcessEnv {
  const ours = /^(REPLICA_|PG[A-Z]+$|DATABASE_URL$|NODE_OPTIONS$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !ours.test(name)));
}
