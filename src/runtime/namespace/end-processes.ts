import { rm } from 'node:fs/promises';
import { removeEngineSocket } from './engine-socket.ts';
import type { Groups } from './groups.ts';
import type { SandboxPaths } from './layout.ts';
import type { Machine } from './machine.ts';
import { isAlive, kill, listSession, type ProcessId } from './processes.ts';
import { type ProcessRecord, processRecord, readRecord } from './records.ts';
import { waitUntil } from './wait-until.ts';

/** Programs of a start; the session is only trusted for these. */
const helpers = new Set(['unshare', 'sh', 'dash', 'bash', 'mount', 'setpriv', 'prlimit', 'bwrap']);

/**
 * Ends every process of a sandbox, in whatever state its start was left, and returns when none is left. The first process
 * inside takes all others with it; the session finds those that were still on their way there; the groups find the rest.
 */
export async function endProcesses(
  key: string,
  { paths, groups, machine }: { paths: SandboxPaths; groups: Groups; machine: Machine },
): Promise<void> {
  const record = await readRecord(paths.process, processRecord);
  const mine = record?.bootId === machine.bootId ? record : undefined;
  if (mine) await endInside(mine);
  const ended = await waitUntil(
    async () => {
      const left = mine ? endOutside(mine) : false;
      return (await groups.end(key)) && !left;
    },
    { timeoutMs: 20_000 },
  );
  if (!ended)
    throw new Error(`Processes of the sandbox ${key} do not end; the kernel may wait for a device.`);
  removeEngineSocket(paths.folder);
  await rm(paths.process, { force: true });
  await groups.remove(key);
}

/**
 * Ends what was started by the process outside, which sees it and leaves by itself: then nothing dead is left to whoever
 * inherits the children of a killed process, and not everybody takes note of theirs.
 */
async function endInside(record: ProcessRecord): Promise<void> {
  const { monitor } = record;
  for (const one of findProcesses(record)) if (one.pid !== monitor.pid) kill(one);
  await waitUntil(() => !isAlive(monitor), { timeoutMs: 1_000 });
}

/** True while one of them is there. */
function endOutside(record: ProcessRecord): boolean {
  const left = findProcesses(record);
  for (const one of left) kill(one);
  return left.length > 0;
}

/** Only a start that was interrupted is worth a look at every process there is. */
function findProcesses({ phase, init, monitor }: ProcessRecord): ProcessId[] {
  const helping =
    phase === 'running' ? [monitor] : listSession(monitor).filter(({ name }) => helpers.has(name));
  return [...helping, ...(init ? [init] : [])].filter(isAlive);
}
