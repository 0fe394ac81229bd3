import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../lib/make-folder.ts';
import { writePrivateFile } from '../lib/private-file.ts';
import type { EngineContext } from './context.ts';

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
      makeFolder(folder);
      writePrivateFile(file, JSON.stringify(Object.fromEntries(known)));
    },
  };
}

function read(file: string): Map<string, string | null> {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const entries = Object.entries(value ?? {}).filter(
      (entry): entry is [string, string | null] => entry[1] === null || isCommit(entry[1]),
    );
    return new Map(entries);
  } catch {
    return new Map();
  }
}

export function isCommit(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}([0-9a-f]{24})?$/.test(value);
}
