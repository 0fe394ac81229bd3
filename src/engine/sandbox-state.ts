import { join } from 'node:path';
import { writePrivateFile } from '../lib/private-file.ts';
import type { EngineContext } from './context.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import { readOwnJson } from './read-own-file.ts';
import { OWN_FILE_BYTES } from './tidy-home.ts';

/** What this sandbox has told the gateway, by name. */
export type SandboxState<T> = {
  entries: Map<string, T>;
  /** Where the disk is full it stays in memory, and the next engine tells the gateway again. */
  save(): void;
};

/** A disk that began as the snapshot of another sandbox holds that one's state, which says nothing about this one. */
export function openSandboxState<T>(
  context: EngineContext,
  { name, isEntry }: { name: string; isEntry(value: unknown): value is T },
): SandboxState<T> {
  const folder = join(context.folder, 'engine');
  const file = join(folder, `${name}.json`);
  const { sandboxId } = context;
  const entries = new Map(
    readEntries(file, sandboxId).filter((entry): entry is [string, T] => isEntry(entry[1])),
  );
  return {
    entries,
    save() {
      try {
        makeOwnFolder(folder);
        writePrivateFile(file, JSON.stringify({ sandboxId, entries: Object.fromEntries(entries) }));
      } catch (error) {
        context.log(`${name} cannot be written down: ${String(error)}`);
      }
    },
  };
}

function readEntries(file: string, sandboxId: string): [string, unknown][] {
  const state = readOwnJson(file, OWN_FILE_BYTES) as Record<string, unknown> | null | undefined;
  return state?.sandboxId === sandboxId ? Object.entries(state.entries ?? {}) : [];
}
