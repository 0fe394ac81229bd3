import { truncateBytes } from '../lib/text.ts';

/** The longest name of a folder on Linux is 255 bytes, and a number may have to follow. */
const MAX_NAME_BYTES = 240;

/** A folder name for each name, in order; one that an earlier folder has taken gets a number. */
export function folderNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    const folder = untaken(usable(name), taken);
    taken.add(folder);
    return folder;
  });
}

/** The name itself, or with the first number from 2 on that makes it differ. */
export function untaken(name: string, taken: ReadonlySet<string>): string {
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** A folder `.git` would make its parent look like a repository. */
function usable(name: string): string {
  return name.toLowerCase() === '.git' ? 'git' : truncateBytes(name, MAX_NAME_BYTES);
}
