import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../lib/make-folder.ts';
import { writePrivateFile } from '../lib/private-file.ts';
import type { EngineContext } from './context.ts';

/** What this sandbox has told the gateway, by name. */
export type SandboxState<T> = {
  entries: Map<string, T>;
  /** Where the disk is full it stays in memory, and the next engine tells the gateway again. */
  save(): void;
};

/** A disk that began as the snapshot of another sandbox holds that one's state, which says nothing about this one. */
export function openSandboxState<T>(context: EngineContext, name: string): SandboxState<T> {
  const folder = join(context.folder, 'engine');
  const file = join(folder, `${name}.json`);
  const { sandboxId } = context;
  const entries = read<T>(file, sandboxId);
  return {
    entries,
    save() {
      try {
        makeFolder(folder);
        writePrivateFile(file, JSON.stringify({ sandboxId, entries: Object.fromEntries(entries) }));
      } catch (error) {
        context.log(`${name} cannot be written down: ${String(error)}`);
      }
    },
  };
}

function read<T>(file: string, sandboxId: string): Map<string, T> {
  try {
    const state = JSON.parse(readFileSync(file, 'utf8')) as { sandboxId: string; entries: Record<string, T> };
    return new Map(state.sandboxId === sandboxId ? Object.entries(state.entries) : []);
  } catch {
    return new Map();
  }
}
