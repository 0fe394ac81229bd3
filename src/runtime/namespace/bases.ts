import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, lchown, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { hostSkeleton, type SkeletonEntry } from './host-skeleton.ts';
import { idRange } from './launch-spec.ts';
import type { Layout } from './layout.ts';
import type { Machine } from './machine.ts';
import { removeTree } from './remove-tree.ts';

export type Base = { kind: 'host' } | { kind: 'rootfs'; folder: string };

/**
 * The folder that a new sandbox's disk stands on. A base never changes: one with other content is another folder, and
 * disks go on standing on theirs.
 */
export async function prepareBase(
  base: Base,
  { layout, machine }: { layout: Layout; machine: Machine },
): Promise<string> {
  if (base.kind === 'rootfs') return path.resolve(base.folder);
  const owner = machine.identity === 'own_range' ? idRange.first : null;
  const entries = hostSkeleton(machine.host);
  const digest = createHash('sha256').update(JSON.stringify({ owner, entries })).digest('hex').slice(0, 12);
  const folder = path.join(layout.bases, `host-${digest}`);
  if (existsSync(folder)) return folder;
  await mkdir(layout.bases, { recursive: true, mode: 0o700 });
  const draft = `${folder}.${randomUUID()}.new`;
  await makeFolder(draft, 0o755);
  for (const entry of entries) await makeEntry(draft, entry, owner);
  if (owner !== null) await chown(draft, owner, owner);
  try {
    await rename(draft, folder);
  } catch (error) {
    // Another process has put the same base there.
    await removeTree(draft, machine);
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

async function makeEntry(root: string, entry: SkeletonEntry, owner: number | null): Promise<void> {
  const target = path.join(root, entry.path);
  await mkdir(path.dirname(target), { recursive: true, mode: 0o755 });
  if (entry.kind === 'link') await symlink(entry.target, target);
  else if (entry.kind === 'folder') await makeFolder(target, entry.mode);
  else {
    await writeFile(target, entry.text);
    await chmod(target, entry.mode);
  }
  if (owner !== null) await lchown(target, owner, owner);
}

/** The mask of this process does not count inside a sandbox. */
async function makeFolder(folder: string, mode: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, mode);
}
