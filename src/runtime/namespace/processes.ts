import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process of this machine; its number alone may belong to another one later. */
export type ProcessId = { pid: number; startTime: string };

export type ProcessStat = ProcessId & { name: string; state: string; session: number };

/** The process with this number, or undefined when there is none that runs. */
export function identify(pid: number): ProcessStat | undefined {
  const stat = readStat(pid);
  // A dead process keeps its number until its parent has taken note.
  return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? undefined : stat;
}

export function isAlive({ pid, startTime }: ProcessId): boolean {
  return identify(pid)?.startTime === startTime;
}

/** Ends the process if it is still the same. */
export function kill(process: ProcessId): void {
  if (isAlive(process)) killNumber(process.pid);
}

export function killNumber(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Every process of the session that this process leads or led. */
export function listSession(leader: ProcessId): ProcessStat[] {
  const first = readStat(leader.pid);
  // The number leads another session by now.
  if (first && first.startTime !== leader.startTime) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => identify(Number(name)) ?? [])
    .filter(({ session }) => session === leader.pid);
}

/**
 * The child of this process that runs another program than it does itself: undefined until there is one, null where the
 * kernel does not say.
 */
export function findProgram({ pid }: ProcessId): ProcessId | null | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    const own = readlinkSync(`/proc/${pid}/exe`);
    const program = children.split(' ').find((child) => child && readlinkSync(`/proc/${child}/exe`) !== own);
    return program ? identify(Number(program)) : undefined;
  } catch {
    // A child that is just going away is looked for again; a list that this kernel never has is not waited for.
    const isUnknowable = identify(pid) !== undefined && !existsSync(`/proc/${pid}/task/${pid}/children`);
    return isUnknowable ? null : undefined;
  }
}

export function parseStat(text: string): ProcessStat | undefined {
  // The name stands in brackets and may itself contain brackets and spaces.
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  const fields = text.slice(close + 2).split(' ');
  const [state, session, startTime] = [fields[0], fields[3], fields[19]];
  if (open < 0 || close < open || !state || !session || !startTime) return undefined;
  return {
    pid: Number(text.slice(0, open)),
    name: text.slice(open + 1, close),
    state,
    session: Number(session),
    startTime,
  };
}

function readStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return undefined;
  }
}
