import { closeSync, constants, type Dirent, opendirSync, openSync } from 'node:fs';

/**
 * What is in a folder that anybody may have filled; null when it is more than so many entries. A link in its place is
 * not followed, and what is no folder throws.
 */
export function listFolder(folder: string, maxEntries: number): Dirent[] | null {
  const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;
  const descriptor = openSync(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    const opened = opendirSync(`/proc/self/fd/${descriptor}`);
    try {
      const entries: Dirent[] = [];
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        if (entries.length === maxEntries) return null;
        entries.push(entry);
      }
      return entries;
    } finally {
      opened.closeSync();
    }
  } finally {
    closeSync(descriptor);
  }
}
