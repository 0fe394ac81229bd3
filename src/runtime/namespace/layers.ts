import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import type { Disks } from './disks.ts';
import { checkName, type LayerPaths, type Layout, type SandboxPaths } from './layout.ts';
import type { Machine } from './machine.ts';
import {
  type LayerRecord,
  layerRecord,
  readRecord,
  type SandboxRecord,
  sandboxRecord,
  writeRecord,
} from './records.ts';
import { removeTree } from './remove-tree.ts';

export type Layer = { id: string; paths: LayerPaths; record: LayerRecord };

/**
 * Disks that sandboxes stand on. A layer is whole from the moment the disk is in its folder, and never changes. Its id is
 * its name and a random part, so that a name can be given again while sandboxes stand on what had it before.
 */
export function createLayers({ layout, machine, disks }: { layout: Layout; machine: Machine; disks: Disks }) {
  const nameOf = (id: string) => id.slice(0, id.lastIndexOf('.'));
  const listIds = () => (existsSync(layout.layers) ? readdirSync(layout.layers) : []);
  const isWhole = (paths: LayerPaths) => existsSync(paths.image) || existsSync(paths.disk);

  /** Ids under this name that nobody has removed, whole or half-made. */
  const idsOf = (name: string) =>
    listIds().filter((id) => nameOf(id) === checkName(name) && !existsSync(layout.layer(id).removed));

  async function read(id: string): Promise<Layer | undefined> {
    const paths = layout.layer(id);
    const record = isWhole(paths) ? await readRecord(paths.record, layerRecord) : undefined;
    return record && { id, paths, record };
  }

  async function find(name: string): Promise<Layer | undefined> {
    for (const id of idsOf(name)) {
      const layer = await read(id);
      if (layer) return layer;
    }
    return undefined;
  }

  let collecting: Promise<void> = Promise.resolve();
  /** One at a time: two that remove the same folder get in each other's way. */
  function collect(): Promise<void> {
    collecting = collecting.then(collectNow, collectNow);
    return collecting;
  }

  /** Removes those that were to be removed and that nothing stands on, until nothing changes any more. */
  async function collectNow(): Promise<void> {
    for (;;) {
      const unwanted = listIds().filter((id) => existsSync(layout.layer(id).removed));
      if (unwanted.length === 0) return;
      const used = await readUsed();
      const free = unwanted.filter((id) => !used.has(id));
      if (free.length === 0) return;
      for (const id of free) {
        const paths = layout.layer(id);
        // The disk goes first: what is half removed is never taken for a layer.
        await rm(paths.image, { force: true });
        await removeTree(paths.disk, machine);
        await removeTree(paths.folder, machine);
      }
    }
  }

  async function readUsed(): Promise<Set<string>> {
    const records = await Promise.all([
      ...layout.listKeys().map((key) => readRecord(layout.sandbox(key).record, sandboxRecord)),
      ...listIds().map((id) => readRecord(layout.layer(id).record, layerRecord)),
    ]);
    return new Set(records.flatMap((record) => record?.layers ?? []));
  }

  return {
    find,
    collect,

    /** Names of those that can be started from, and of half-made ones. */
    list: (): string[] => [
      ...new Set(
        listIds()
          .filter((id) => !existsSync(layout.layer(id).removed))
          .map(nameOf),
      ),
    ],

    /** The layers of these names with all that they stand on, newest first; or the name of the first that is missing. */
    async chain(names: readonly string[]): Promise<Layer[] | { missing: string }> {
      const chain = new Map<string, Layer>();
      for (const name of names) {
        const layer = await find(name);
        if (!layer) return { missing: name };
        chain.set(layer.id, layer);
        const below = await readAll(layer.record.layers);
        if (!Array.isArray(below)) return below;
        for (const one of below) chain.set(one.id, one);
      }
      return [...chain.values()];
    },

    readAll,

    /** Turns the disk of a sandbox that has ended into a layer. Repeated, it goes on where it was left. */
    async adopt(paths: SandboxPaths, record: SandboxRecord, name: string): Promise<void> {
      if (record.disk === 'image') await disks.settle(paths);
      await remove(name);
      const layer = layout.layer(`${checkName(name)}.${randomBytes(4).toString('hex')}`);
      await mkdir(layer.folder, { recursive: true, mode: 0o700 });
      const { base, disk, layers, key } = record;
      const draft: LayerRecord = { name, base, disk, layers, from: key };
      await writeRecord(layer.record, draft, { durable: true });
      if (disk === 'image') {
        await chmod(paths.image, 0o400);
        await rename(paths.image, layer.image);
      } else await rename(paths.disk, layer.disk);
      await syncFolder(layer.folder);
    },

    remove,
  };

  async function remove(name: string): Promise<void> {
    for (const id of idsOf(name)) await writeFile(layout.layer(id).removed, '');
    await collect();
  }

  async function readAll(ids: readonly string[]): Promise<Layer[] | { missing: string }> {
    const found: Layer[] = [];
    for (const id of ids) {
      const layer = await read(id);
      if (!layer) return { missing: nameOf(id) };
      found.push(layer);
    }
    return found;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export type Layers = ReturnType<typeof createLayers>;
