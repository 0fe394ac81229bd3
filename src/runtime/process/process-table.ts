import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { engineVariables } from '../../engine/place.ts';

const KILL_LIMIT_MS = 10_000;

export type ProcessIdentity = {
  pid: number;
  /** In ticks since the machine started; with `boot` it tells a process from a later one of the same number. */
  startTicks: number;
  boot: string;
};

type Entry = { pid: number; parent: number; group: number; session: number; startTicks: number };

/** Who the living process of that number is; null when there is none, or only its exit status is left of it. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const entry = readEntry(pid);
  if (!entry) return null;
  return { pid, startTicks: entry.startTicks, boot: readText('/proc/sys/kernel/random/boot_id').trim() };
}

export function isSameProcess(one: ProcessIdentity, other: ProcessIdentity | null): boolean {
  return other !== null && one.startTicks === other.startTicks && one.boot === other.boot;
}

/**
 * Kills every process that works in `home`. A process that wants to get away can: it only has to leave its parent, its
 * session and its environment behind. This finds programs that are ordinary, not those that hide.
 */
export async function endProcesses(home: string): Promise<void> {
  const deadline = performance.now() + KILL_LIMIT_MS;
  const killed = new Map<number, Entry>();
  for (;;) {
    const found = findProcesses(home);
    for (const entry of found) {
      killed.set(entry.pid, entry);
      kill(entry.pid);
    }
    // A process on its way out has lost its environment and is not found by it, though it is still there.
    const left = [...killed.values()].filter(
      ({ pid, startTicks }) => readEntry(pid)?.startTicks === startTicks,
    );
    if (found.length === 0 && left.length === 0) return;
    if (performance.now() > deadline) {
      const pids = [...found, ...left].slice(0, 10).map(({ pid }) => pid);
      throw new Error(`Processes of a sandbox do not end: ${pids.join(', ')}.`);
    }
    await delay(5);
  }
}

/** Those that carry the home in their environment, and then whoever descends from or shares a session with one of them. */
function findProcesses(home: string): Entry[] {
  const entries = readTable();
  const marks = [`HOME=${home}`, `${engineVariables.home}=${home}`];
  const found = new Map<number, Entry>();
  for (const entry of entries) {
    const variables = readText(`/proc/${entry.pid}/environ`).split('\0');
    if (marks.some((mark) => variables.includes(mark))) found.set(entry.pid, entry);
  }
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const entry of entries) {
      if (found.has(entry.parent) || hasLeader(found, entry)) found.set(entry.pid, entry);
    }
  }
  return [...found.values()];
}

/** The engine leads a session of its own, so that a leader among the found ones leads nobody of the control plane. */
function hasLeader(found: ReadonlyMap<number, Entry>, entry: Entry): boolean {
  return found.get(entry.session)?.session === entry.session || found.get(entry.group)?.group === entry.group;
}

function readTable(): Entry[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((name) => readEntry(Number(name))).filter((entry) => entry !== null);
}

function readEntry(pid: number): Entry | null {
  const text = readText(`/proc/${pid}/stat`);
  // The name of the program stands in brackets and may hold brackets and blanks itself.
  const [state, parent, group, session, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (!state || state === 'Z' || state === 'X') return null;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTicks: Number(rest[15]),
  };
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Empty for a process that is gone or belongs to somebody else. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
