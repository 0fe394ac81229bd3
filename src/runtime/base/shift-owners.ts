import { chmodSync, lchownSync, lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Adds `offset` to the owner and the group of everything in a tree, so that a sandbox whose user 0 is `offset` outside
 * sees them as they were. Links are changed themselves and never followed. The tree must not be in use.
 */
export function shiftOwners(folder: string, offset: number): number {
  /** A file with several names is one owner to change. */
  const seen = new Set<string>();
  let changed = 0;

  function visit(entry: string): void {
    const { uid, gid, mode, nlink, dev, ino, isFolder, isLink } = look(entry);
    if (!isFolder && nlink > 1n) {
      const file = `${dev}:${ino}`;
      if (seen.has(file)) return;
      seen.add(file);
    }
    lchownSync(entry, uid + offset, gid + offset);
    // A change of owner takes the set-user and set-group bits away.
    if (!isLink && (mode & 0o6000) !== 0) chmodSync(entry, mode & 0o7777);
    changed += 1;
    if (isFolder) for (const name of readdirSync(entry)) visit(path.join(entry, name));
  }

  visit(folder);
  return changed;
}

function look(entry: string) {
  const stat = lstatSync(entry, { bigint: true });
  return {
    uid: Number(stat.uid),
    gid: Number(stat.gid),
    mode: Number(stat.mode),
    nlink: stat.nlink,
    dev: stat.dev,
    ino: stat.ino,
    isFolder: stat.isDirectory(),
    isLink: stat.isSymbolicLink(),
  };
}
