import { join } from 'node:path';
import { writePrivateFile } from '../lib/private-file.ts';
import type { EngineContext } from './context.ts';
import { makeOwnFolder } from './make-own-folder.ts';
import { readOwnJson } from './read-own-file.ts';
import { OWN_FILE_BYTES } from './tidy-home.ts';

/** The commit each repository began with; null for one that had none. What is not known is undefined. */
export type Bases = {
  get(id: string): string | null | undefined;
  set(id: string, base: string | null): void;
};

/** Kept in a file, because the agent may remove every ref of a repository. */
export function openBases(context: EngineContext): Bases {
  const folder = join(context.folder, 'engine');
  const file = join(folder, 'bases.json');
  const known = read(file);
  return {
    get: (id) => known.get(id),
    set(id, base) {
      known.set(id, base);
      try {
        makeOwnFolder(folder);
        writePrivateFile(file, JSON.stringify(Object.fromEntries(known)));
      } catch (error) {
        // The repository carries it too, and the next engine finds it there.
        context.log(`the base of a repository cannot be written down: ${String(error)}`);
      }
    },
  };
}

function read(file: string): Map<string, string | null> {
  const entries = Object.entries(readOwnJson(file, OWN_FILE_BYTES) ?? {}).filter(
    (entry): entry is [string, string | null] => entry[1] === null || isCommit(entry[1]),
  );
  return new Map(entries);
}

export function isCommit(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value);
}
