import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from 'node:fs';

/** A process of this machine; its number alone may belong to another one later. */
export type ProcessId = { pid: number; startTime: string };

export type ProcessStat = ProcessId & { name: string; state: string };

const MAX_ENVIRONMENT_BYTES = 16_384;

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

/** Every process whose environment, as it was when its program began, holds this variable. */
export function listByVariable(name: string, value: string): ProcessId[] {
  const wanted = `\0${name}=${value}\0`;
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && `\0${readEnvironment(entry)}`.includes(wanted))
    .flatMap((entry) => identify(Number(entry)) ?? []);
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
  const [state, startTime] = [fields[0], fields[19]];
  if (open < 0 || close < open || !state || !startTime) return undefined;
  return {
    pid: Number(text.slice(0, open)),
    name: text.slice(open + 1, close),
    state,
    startTime,
  };
}

/** The beginning of it: that of our own programs is short, and that of others need not be read to its end. */
function readEnvironment(pid: string): string {
  try {
    const file = openSync(`/proc/${pid}/environ`, 'r');
    try {
      const buffer = Buffer.alloc(MAX_ENVIRONMENT_BYTES);
      return buffer.toString('latin1', 0, readSync(file, buffer));
    } finally {
      closeSync(file);
    }
  } catch {
    // It has ended, or is somebody else's.
    return '';
  }
}

function readStat(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return undefined;
  }
}
