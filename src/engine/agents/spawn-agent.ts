import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { AgentFailure } from './agent.ts';

export type AgentProgram = {
  program: string;
  args: readonly string[];
  folder: string;
  environment: Readonly<Record<string, string>>;
};

export type SpawnedAgent = {
  pid: number;
  child: ChildProcessWithoutNullStreams;
  /** Resolves when the process has ended, by whatever cause. */
  exited: Promise<void>;
  hasExited(): boolean;
  /** Asks it to end, and kills it with its group when it does not. What it has left in other groups goes on. */
  end(): Promise<void>;
};

/** Starts an agent's program in a session of its own; why that is not possible is an `AgentFailure`. */
export async function spawnAgent({
  program,
  args,
  folder,
  environment,
}: AgentProgram): Promise<SpawnedAgent> {
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(program, args, { cwd: folder, env: environment, stdio: 'pipe', detached: true });
    // Nothing of it may be touched before: one that could not be started may have no streams.
    await once(child, 'spawn');
  } catch (cause) {
    throw notStarted(cause);
  }
  // What it cannot be told, or be read of, shows by its end.
  for (const part of [child, child.stdin, child.stdout, child.stderr]) part.on('error', () => {});
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  const pid = child.pid as number;
  return {
    pid,
    child,
    exited,
    hasExited,
    async end() {
      if (hasExited()) return;
      child.stdin.end();
      child.kill('SIGTERM');
      await Promise.race([exited, delay(PATIENCE_MS, undefined, { ref: false })]);
      if (hasExited()) return;
      killGroup(pid);
      // Not even that ends a process at once that waits for a disk.
      await Promise.race([exited, delay(PATIENCE_MS, undefined, { ref: false })]);
    },
  };
}

const PATIENCE_MS = 2_000;

function notStarted(cause: unknown): AgentFailure {
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  const reason = reasons.get(code) ?? 'the system refuses it';
  return new AgentFailure(`The agent's program cannot be started: ${reason} (${code}).`, {
    kind: 'agent_died',
    cause,
  });
}

const reasons = new Map([
  ['ENOENT', 'it is not installed'],
  ['EACCES', 'it may not be run'],
  ['E2BIG', 'the variables and MCP servers of the environment are too long for it'],
  ['EAGAIN', 'the workspace runs too many programs'],
  ['EMFILE', 'the workspace has too many files open'],
  ['ENFILE', 'the workspace has too many files open'],
  ['ENOMEM', 'the workspace has no memory left'],
]);

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
