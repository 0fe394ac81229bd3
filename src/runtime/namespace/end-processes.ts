import { rm } from 'node:fs/promises';
import { removeEngineSocket } from './engine-socket.ts';
import type { Groups } from './groups.ts';
import type { SandboxPaths } from './layout.ts';
import type { Machine } from './machine.ts';
import { isAlive, kill, listByVariable, type ProcessId } from './processes.ts';
import { type ProcessRecord, processRecord, readRecord } from './records.ts';
import { markVariable } from './start-script.ts';
import { waitUntil } from './wait-until.ts';

/**
 * Ends every process of a sandbox, in whatever state its start was left, and returns when none is left. The first process
 * inside takes all others with it; the mark finds what was started and is not on record; the groups find the rest.
 */
export async function endProcesses(
  key: string,
  { paths, groups, machine }: { paths: SandboxPaths; groups: Groups; machine: Machine },
): Promise<void> {
  const record = await readRecord(paths.process, processRecord);
  const mine = record?.bootId === machine.bootId ? record : undefined;
  const find = mine ? createFinder(mine, paths.mark) : () => [];
  if (mine) await endInside(mine, find);
  const ended = await waitUntil(
    async () => {
      const left = find();
      for (const one of left) kill(one);
      return (await groups.end(key)) && left.length === 0;
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
async function endInside({ monitor }: ProcessRecord, find: () => ProcessId[]): Promise<void> {
  for (const one of find()) if (one.pid !== monitor.pid) kill(one);
  await waitUntil(() => !isAlive(monitor), { timeoutMs: 1_000 });
}

/**
 * Finds those that still run. Only a start that was interrupted is worth a look at every process there is: the first one
 * inside has left the session of the others by the time it runs, and whoever was to note its number may have been killed
 * before. One that is about to end has lost its environment already, so what was found once is remembered.
 */
function createFinder({ phase, init, monitor }: ProcessRecord, mark: string): () => ProcessId[] {
  const known = new Map([monitor, ...(init ? [init] : [])].map((one) => [nameOf(one), one]));
  return () => {
    const marked = phase === 'running' ? [] : listByVariable(markVariable, mark);
    for (const one of marked) known.set(nameOf(one), one);
    return [...known.values()].filter(isAlive);
  };
}

const nameOf = ({ pid, startTime }: ProcessId) => `${pid}@${startTime}`;
