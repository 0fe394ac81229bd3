import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Names the tree a process belongs to; children inherit it wherever they go. */
export const TREE_VARIABLE = 'REPLICA_PROCESS_TREE';

const ROUNDS = 100;
const ROUND_MS = 10;

export type ProcessMark = {
  /** A variable and its value in their environment. */
  variable: string;
  value: string;
  /** The session they are in, for those that have changed their environment. */
  session?: number;
  /** Those that go on all the same, with what they have started. */
  spare?: ReadonlySet<number>;
};

/**
 * Kills every process with the mark and all their descendants, also those that have left the group, the session or
 * their parent. Looks again until none is left, because some may have forked in between.
 */
export async function killProcesses(mark: ProcessMark): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const found = findProcesses(mark);
    if (found.length === 0) return;
    for (const pid of found) kill(pid);
    await delay(ROUND_MS);
  }
}

/** The processes with the mark in their environment. */
export function listMarked({ variable, value }: Pick<ProcessMark, 'variable' | 'value'>): number[] {
  const entry = `${variable}=${value}`;
  return listProcesses()
    .map(({ pid }) => pid)
    .filter((pid) => readEnvironment(pid).includes(entry));
}

/** What processes have started, as far as it has not left its parent. */
export function listDescendants(pids: readonly number[]): number[] {
  const found = withDescendants(new Set(pids), listProcesses());
  return [...found].filter((pid) => !pids.includes(pid));
}

type ProcessState = { pid: number; parent: number; session: number };

function findProcesses({ variable, value, session, spare = new Set() }: ProcessMark): number[] {
  const entry = `${variable}=${value}`;
  const processes = listProcesses();
  const found = new Set(
    processes
      .filter(({ pid }) => !spare.has(pid))
      .filter((process) => process.session === session || readEnvironment(process.pid).includes(entry))
      .map(({ pid }) => pid),
  );
  const killable = processes.filter(({ pid }) => !spare.has(pid));
  return [...withDescendants(found, killable)];
}

function withDescendants(ancestors: ReadonlySet<number>, processes: readonly ProcessState[]): Set<number> {
  const found = new Set(ancestors);
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const { pid, parent } of processes) if (found.has(parent)) found.add(pid);
  }
  return found;
}

/** All processes but this one, those it stands on, and those that have ended and only wait to be noticed. */
function listProcesses(): ProcessState[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      // After the name of the program, which may contain anything: state, parent, group, session.
      const stat = readOrNothing(`/proc/${name}/stat`);
      const [state = 'Z', parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const pid = Number(name);
      const isSpared = 'ZX'.includes(state) || pid === 1 || pid === process.pid || pid === process.ppid;
      return isSpared ? [] : [{ pid, parent: Number(parent), session: Number(session) }];
    });
}

function readEnvironment(pid: number): string[] {
  return readOrNothing(`/proc/${pid}/environ`).split('\0');
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    // It has ended, or belongs to somebody else.
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
