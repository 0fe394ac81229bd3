import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { createLayout } from '../src/runtime/namespace/layout.ts';
import { processRecord, readRecord } from '../src/runtime/namespace/records.ts';
import { readProcessFile } from './process-file.ts';
import { pssMiB } from './processes.ts';

export type SandboxMemory = { wholeMiB: number; engineMiB: number };

/** Memory of each sandbox of a data folder that runs: of all its processes, and of the engine alone. */
export async function measureSandboxes(dataDir: string): Promise<SandboxMemory[]> {
  const layout = createLayout(path.join(dataDir, 'runtime', 'namespace'));
  const keys = existsSync(layout.sandboxes) ? readdirSync(layout.sandboxes) : [];
  const children = readChildren();
  const measured: SandboxMemory[] = [];
  for (const key of keys) {
    const record = await readRecord(layout.sandbox(key).process, processRecord);
    if (record?.phase !== 'running') continue;
    const pids = withDescendants(record.monitor.pid, children);
    const memory = pids.map((pid) => ({ isEngine: !isHelper(pid), MiB: pssMiB(pid) }));
    const sum = (some: typeof memory) => some.reduce((total, { MiB }) => total + MiB, 0);
    const wholeMiB = sum(memory);
    // A sandbox that has ended meanwhile would make the others look smaller.
    if (wholeMiB > 0) measured.push({ wholeMiB, engineMiB: sum(memory.filter(({ isEngine }) => isEngine)) });
  }
  return measured;
}

export function withDescendants(pid: number, children = readChildren()): number[] {
  return [pid, ...(children.get(pid) ?? []).flatMap((child) => withDescendants(child, children))];
}

function readChildren(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = parentOf(Number(name));
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  return children;
}

/** Null when the process has ended. */
export function parentOf(pid: number): number | null {
  const stat = readProcessFile(pid, 'stat');
  // The name stands in brackets and may itself contain brackets and spaces.
  const parent = /^.*\) \S (\d+)/s.exec(stat)?.[1];
  return parent === undefined ? null : Number(parent);
}

function isHelper(pid: number): boolean {
  return readProcessFile(pid, 'comm').trim() === 'bwrap';
}
