import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import type { Base } from '../namespace/bases.ts';

/** A link to the newest tree of `replica base build`, made when that is whole: a tree that is there can be used. */
export function rootfsLink(dataDir: string): string {
  return path.join(dataDir, 'base', 'rootfs');
}

/** The tree when there is one that can be used, else the machine's own programs. */
export function chooseBase(dataDir: string): Base {
  return findUsableRootfs(dataDir) ?? { kind: 'host' };
}

/** The tree's files belong to the many users of a sandbox, and only root can map those. */
export function findUsableRootfs(dataDir: string): Base | null {
  return process.getuid?.() === 0 ? findRootfs(dataDir) : null;
}

/** The tree itself and not the link: disks go on standing on theirs when there is a newer one. */
export function findRootfs(dataDir: string): Base | null {
  const link = rootfsLink(dataDir);
  return existsSync(link) ? { kind: 'rootfs', folder: realpathSync(link) } : null;
}
