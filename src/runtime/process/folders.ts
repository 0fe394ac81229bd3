import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { makeFolder } from '../../lib/make-folder.ts';
import { SandboxLostError } from '../driver.ts';

const run = promisify(execFile);
const COPY_LIMIT_MS = 600_000;

export type Folders = ReturnType<typeof createFolders>;

/**
 * Disks as plain folders:
 *   sandboxes/<key>/home          the disk
 *   sandboxes/<key>/home.partial  a copy of a layer that is not whole yet
 *   sandboxes/<key>/removed       a disk on its way out; it must never be taken for a whole one
 *   layers/<name>                 never changes
 *   removed/<name>                a layer on its way out
 */
export function createFolders(root: string) {
  const sandbox = (key: string) => path.join(root, 'sandboxes', checked(key));
  const home = (key: string) => path.join(sandbox(key), 'home');
  const layer = (name: string) => path.join(root, 'layers', checked(name));
  const removedLayer = (name: string) => path.join(root, 'removed', checked(name));

  async function copyLayer(name: string, folder: string, signal?: AbortSignal): Promise<void> {
    const requireLayer = () => {
      if (!existsSync(layer(name))) throw new SandboxLostError(`The layer ${name} is gone.`);
    };
    requireLayer();
    // Of all that can lie in a home, Node's own copy refuses sockets and named pipes.
    const bounds = { timeout: COPY_LIMIT_MS, ...(signal && { signal }) };
    // One that is removed meanwhile may be copied in part, and without an error.
    await run('cp', ['-a', '--reflink=auto', `${layer(name)}/.`, folder], bounds).finally(requireLayer);
  }

  return {
    sandbox,
    home,
    hasDisk: (key: string) => existsSync(home(key)),
    hasLayer: (name: string) => existsSync(layer(name)),

    /** A copy of the newest layer, which holds those below it too; an empty folder when there is none. */
    async makeDisk(key: string, newest: string | undefined, signal?: AbortSignal): Promise<void> {
      makeFolder(sandbox(key));
      const partial = path.join(sandbox(key), 'home.partial');
      await removeTree(partial);
      makeFolder(partial);
      if (newest !== undefined) await copyLayer(newest, partial, signal);
      await rename(partial, home(key));
    },

    async turnIntoLayer(key: string, name: string): Promise<void> {
      if (existsSync(layer(name))) {
        if (existsSync(home(key))) throw new Error(`A layer named ${name} already exists.`);
      } else {
        if (!existsSync(home(key))) throw new SandboxLostError(`Sandbox ${key} has no disk to keep.`);
        makeFolder(path.dirname(layer(name)));
        await rename(home(key), layer(name));
      }
      await removeTree(sandbox(key));
    },

    async removeSandbox(key: string): Promise<void> {
      const removed = path.join(sandbox(key), 'removed');
      await removeTree(removed);
      if (existsSync(home(key))) await rename(home(key), removed);
      await removeTree(sandbox(key));
    },

    async removeLayer(name: string): Promise<void> {
      await removeTree(removedLayer(name));
      if (!existsSync(layer(name))) return;
      makeFolder(path.dirname(removedLayer(name)));
      await rename(layer(name), removedLayer(name));
      await removeTree(removedLayer(name));
    },

    async list(): Promise<{ keys: string[]; layers: string[] }> {
      const [keys, layers, removed] = await Promise.all(
        ['sandboxes', 'layers', 'removed'].map((name) => names(path.join(root, name))),
      );
      return { keys: keys ?? [], layers: [...new Set([...(layers ?? []), ...(removed ?? [])])] };
    },
  };
}

/** Keys and layers become file names. */
function checked(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(name))
    throw new Error(`"${name}" cannot name a sandbox or a layer.`);
  return name;
}

async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'ENOTEMPTY') throw error;
    // Package managers make folders that not even their owner may write.
    await run('chmod', ['-R', 'u+rwX', folder], { timeout: COPY_LIMIT_MS });
    await rm(folder, { recursive: true, force: true });
  }
}

async function names(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
