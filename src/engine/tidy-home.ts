import { lstatSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { listFolder } from './list-folder.ts';
import { describeAside, discard, setAside } from './set-aside.ts';

type Rule = { path: string } & (
  | { is: 'folder'; mayBeLink?: true }
  /** A folder with plain files and nothing else. */
  | { is: 'files'; maxEntries: number }
  | { is: 'file'; maxBytes?: number }
);

/** No file in which the engine remembers something is as large. */
export const OWN_FILE_BYTES = 4 * 1_048_576;
/** More turns than are remembered, and more conversations than anybody has. */
export const MAX_OWN_FILES = 10_000;

/** What the engine relies on below the home directory. A folder stands before what is in it. */
const rules: readonly Rule[] = [
  { path: 'workspaces', is: 'folder', mayBeLink: true },
  { path: '.replica', is: 'folder' },
  { path: '.replica/engine', is: 'folder' },
  { path: '.replica/engine/turns', is: 'files', maxEntries: MAX_OWN_FILES },
  { path: '.replica/engine/conversations', is: 'files', maxEntries: MAX_OWN_FILES },
  { path: '.replica/engine/outbox', is: 'folder' },
  { path: '.replica/engine/tmp', is: 'folder' },
  { path: '.replica/engine/clones', is: 'folder' },
  { path: '.replica/engine/bases.json', is: 'file', maxBytes: OWN_FILE_BYTES },
  { path: '.replica/engine/shadows.json', is: 'file', maxBytes: OWN_FILE_BYTES },
  { path: '.replica/engine/canvas.json', is: 'file', maxBytes: OWN_FILE_BYTES },
  { path: '.replica/canvas', is: 'folder' },
  { path: '.replica/skills', is: 'folder' },
  { path: '.replica/installed-skills.json', is: 'file', maxBytes: OWN_FILE_BYTES },
  { path: '.replica/gitconfig', is: 'file' },
  { path: '.replica/mcp.json', is: 'file' },
  { path: '.replica/system-prompt.md', is: 'file' },
];

/**
 * Sets aside what stands in the place of something else, so that whatever a process of the workspace has done, the engine
 * finds folders and files that it can use, or none. Links in ~/.replica are not followed, and no file is opened.
 */
export function tidyHome(home: string, { warn }: { warn(sentence: string): void }): void {
  for (const rule of rules) {
    const place = path.join(home, rule.path);
    const name = `~/${rule.path}`;
    try {
      const fault = findFault(place, rule);
      if (fault) warn(`${name} ${fault}. ${describeAside(setAside(place))}`);
      if (rule.is === 'files' && removeStrays(place, rule.maxEntries) > 0)
        warn(`${name} held what is no plain file. It was removed.`);
    } catch (error) {
      warn(`${name} cannot be put in order: ${(error as NodeJS.ErrnoException).code || String(error)}.`);
    }
  }
}

/** What is wrong, as the end of a sentence about the place. */
function findFault(place: string, rule: Rule): string | null {
  const stats = lstatSync(place, { throwIfNoEntry: false });
  if (!stats) return null;
  if (rule.is === 'file') {
    if (!stats.isFile()) return `was ${kindOf(stats)} in place of a file`;
    return stats.size > (rule.maxBytes ?? Number.POSITIVE_INFINITY) ? 'was too large to be read' : null;
  }
  const isFolder = rule.is === 'folder' && rule.mayBeLink ? leadsToFolder(place) : stats.isDirectory();
  if (!isFolder) return `was ${kindOf(stats)} in place of a folder`;
  return rule.is === 'files' && !listFolder(place, rule.maxEntries) ? 'was full of files' : null;
}

function leadsToFolder(place: string): boolean {
  try {
    return statSync(place).isDirectory();
  } catch {
    return false;
  }
}

function removeStrays(folder: string, maxEntries: number): number {
  if (!lstatSync(folder, { throwIfNoEntry: false })) return 0;
  const strays = (listFolder(folder, maxEntries) ?? []).filter((entry) => !entry.isFile());
  for (const { name } of strays) discard(path.join(folder, name), { beside: folder });
  return strays.length;
}

function kindOf(stats: Stats): string {
  if (stats.isSymbolicLink()) return 'a link';
  if (stats.isFIFO()) return 'a fifo';
  if (stats.isDirectory()) return 'a folder';
  return stats.isFile() ? 'a file' : 'something else';
}
