import { randomUUID } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { idRange } from './launch-spec.ts';
import type { Layout, SandboxPaths } from './layout.ts';
import type { Machine } from './machine.ts';
import type { DiskKind } from './records.ts';
import { removeTree } from './remove-tree.ts';
import { runProgram } from './run-program.ts';
import { waitUntil } from './wait-until.ts';

/** How an image is mounted: nothing on it gives rights, and what is deleted inside is free outside. */
export const imageOptions = 'loop,nodev,nosuid,noatime,discard,noinit_itable';
export const layerImageOptions = 'loop,ro,nodev,nosuid,noatime';

/** The disks of sandboxes: a file system in a sparse file of the wanted size, or a plain folder where that cannot be. */
export function createDisks({ layout, machine }: { layout: Layout; machine: Machine }) {
  return {
    has: (paths: SandboxPaths, kind: DiskKind): boolean =>
      kind === 'image' ? isFile(paths.image) : isFolder(path.join(paths.disk, 'u')),

    /** Makes an empty disk; one that has its final name is whole. */
    async make(paths: SandboxPaths, { kind, sizeMiB }: { kind: DiskKind; sizeMiB: number }): Promise<void> {
      const final = kind === 'image' ? paths.image : paths.disk;
      const draft = `${final}.new`;
      await removeTree(draft, machine);
      if (kind === 'image') await makeImage(draft, sizeMiB, await prepareSeed());
      else await makeTree(draft);
      await rename(draft, final);
    },

    /** Waits until the kernel has let go of the image: the file system is mounted nowhere, and everything is written. */
    async release(paths: Pick<SandboxPaths, 'image'>): Promise<void> {
      const free = await waitUntil(() => !isAttached(paths.image), { timeoutMs: 20_000 });
      if (!free) throw new Error(`${paths.image} is still in use by the kernel, though no process uses it.`);
    },

    /** Makes a disk fit for read-only use: one that a crash of the machine left behind has to be put right first. */
    async settle(paths: SandboxPaths): Promise<void> {
      if (!(await needsRecovery(paths.image))) return;
      await mkdir(paths.disk, { recursive: true });
      const mount = ['mount', '-i', '-o', imageOptions, paths.image, paths.disk];
      await runProgram('unshare', ['--mount', '--propagation', 'slave', ...mount]);
      await this.release(paths);
    },

    isReadable: (paths: SandboxPaths, kind: DiskKind) => kind === 'folder' || hasMagic(paths.image),
  };

  async function prepareSeed(): Promise<string> {
    if (isFolder(layout.seed)) return layout.seed;
    const draft = `${layout.seed}.${randomUUID()}.new`;
    await makeTree(draft);
    await rename(draft, layout.seed).catch(async (error: unknown) => {
      await removeTree(draft, machine);
      if (!isFolder(layout.seed)) throw error;
    });
    return layout.seed;
  }

  /** The two folders of an overlay: what is written, and where the kernel prepares it. */
  async function makeTree(folder: string): Promise<void> {
    const upper = path.join(folder, 'u');
    await mkdir(upper, { recursive: true, mode: 0o700 });
    await mkdir(path.join(folder, 'w'), { mode: 0o700 });
    await chmod(upper, 0o755);
    if (machine.identity === 'own_range') await chown(upper, idRange.first, idRange.first);
  }
}

export type Disks = ReturnType<typeof createDisks>;

/** Nothing is written that can be left out, so that an empty disk of any size is made in milliseconds. */
async function makeImage(file: string, sizeMiB: number, seed: string): Promise<void> {
  const journalMiB = sizeMiB < 1024 ? 4 : 16;
  try {
    await runProgram('mkfs.ext4', [
      ...[
        '-q',
        '-F',
        '-b',
        '4096',
        '-i',
        '8192',
        '-m',
        '0',
        '-O',
        '^resize_inode',
        '-J',
        `size=${journalMiB}`,
      ],
      ...['-E', 'lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0', '-d', seed, file, `${sizeMiB}M`],
    ]);
    await chmod(file, 0o600);
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

/** Whether a loop device stands on the image. The kernel names the file as its own namespaces see it, so the end counts. */
function isAttached(image: string): boolean {
  const end = image.split('/').slice(-3).join('/');
  const devices = isFolder('/sys/block') ? readdirSync('/sys/block') : [];
  return devices.some((name) => {
    if (!name.startsWith('loop')) return false;
    try {
      return readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').trimEnd().endsWith(`/${end}`);
    } catch {
      return false;
    }
  });
}

const superblock = { magic: { offset: 1024 + 56, value: 0xef53 }, incompatible: 1024 + 96, recoverFlag: 0x4 };

async function hasMagic(image: string): Promise<boolean> {
  return (await readBytes(image, superblock.magic.offset, 2)).readUInt16LE() === superblock.magic.value;
}

async function needsRecovery(image: string): Promise<boolean> {
  const flags = (await readBytes(image, superblock.incompatible, 4)).readUInt32LE();
  return (flags & superblock.recoverFlag) !== 0;
}

async function readBytes(file: string, offset: number, length: number): Promise<Buffer> {
  const handle = await open(file, 'r');
  try {
    const bytes = Buffer.alloc(length);
    await handle.read(bytes, 0, length, offset);
    return bytes;
  } finally {
    await handle.close();
  }
}

const isFile = (file: string) => lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
const isFolder = (file: string) => lstatSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
