import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { SandboxLimits } from '../driver.ts';
import {
  type Controller,
  groupSettings,
  type Hierarchy,
  parseHierarchies,
  planTrees,
  type Tree,
} from './cgroup-plan.ts';
import type { Layout } from './layout.ts';
import type { Machine } from './machine.ts';
import { killNumber } from './processes.ts';
import { isAbsent } from './records.ts';
import { waitUntil } from './wait-until.ts';

/**
 * The control groups of sandboxes, in every tree of the machine that can be written. They hold the limits, and they say
 * which processes belong to a sandbox whatever became of the process that started it.
 */
export function createGroups({
  layout,
  machine,
  hierarchies = readHierarchies(),
}: {
  layout: Pick<Layout, 'groupName'>;
  machine: Pick<Machine, 'identity'>;
  hierarchies?: readonly Hierarchy[];
}) {
  const planned = machine.identity === 'own_range' ? planTrees(hierarchies) : [];
  const parentIn = (tree: Tree) => path.join(tree.folder, layout.groupName);
  const groupIn = (tree: Tree, key: string) => path.join(parentIn(tree), `${prefix}${key}`);
  let usable: Promise<Tree[]> | undefined;
  const findUsable = () => {
    usable ??= Promise.all(planned.map((tree) => tryTree(tree, parentIn(tree)))).then((trees) =>
      trees.flat(),
    );
    return usable;
  };

  return {
    /** What can really be limited here. */
    controllers: async () => new Set<Controller>((await findUsable()).flatMap((tree) => tree.controllers)),

    /** Makes the groups and returns the files through which a process joins them. */
    async make(key: string, limits: SandboxLimits): Promise<string[]> {
      const trees = await findUsable();
      for (const tree of trees)
        await makeGroup(tree, { parent: parentIn(tree), group: groupIn(tree, key), limits });
      return trees.map((tree) => path.join(groupIn(tree, key), membersFile));
    },

    /** Ends all processes of a sandbox; true when there was none. */
    async end(key: string): Promise<boolean> {
      const groups = planned
        .map((tree) => groupIn(tree, key))
        .filter((group) => readMembers(group).length > 0);
      for (const group of groups) {
        // One write ends them all where the kernel can do it; elsewhere one that forks meanwhile is met the next time.
        const atOnce = path.join(group, 'cgroup.kill');
        if (existsSync(atOnce)) await writeFile(atOnce, '1').catch(passIfAbsent);
        for (const pid of readMembers(group)) killNumber(pid);
      }
      return groups.length === 0;
    },

    /**
     * Removes the groups of a sandbox whose processes have ended. The kernel keeps a group until the parents of the dead
     * have taken note; one that stays for want of such a parent does no harm, and the next sweep tries again.
     */
    async remove(key: string): Promise<void> {
      for (const tree of planned) {
        await waitUntil(() => removeGroup(groupIn(tree, key)), { timeoutMs: 5_000 });
        await removeGroup(parentIn(tree));
      }
    },

    /** Keys that have a group in any tree. */
    list(): string[] {
      const names = planned.flatMap((tree) =>
        existsSync(parentIn(tree)) ? readdirSync(parentIn(tree)) : [],
      );
      return [...new Set(names.filter((name) => name.startsWith(prefix)))].map((name) =>
        name.slice(prefix.length),
      );
    },
  };
}

export type Groups = ReturnType<typeof createGroups>;

/** Apart from the names of the kernel's own files. */
const prefix = 'sandbox-';
const membersFile = 'cgroup.procs';

function readHierarchies() {
  const file = '/proc/self/mountinfo';
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return parseHierarchies(text).map((hierarchy) =>
    hierarchy.version === 1 ? hierarchy : { ...hierarchy, controllers: readControllers(hierarchy.folder) },
  );
}

function readControllers(folder: string): string[] {
  try {
    return readFileSync(path.join(folder, 'cgroup.controllers'), 'utf8').trim().split(' ');
  } catch {
    return [];
  }
}

/** The tree with what can be limited in it; nothing when no group can be made there. */
async function tryTree(tree: Tree, parent: string): Promise<Tree[]> {
  try {
    await makeFolder(parent);
    const controllers: Controller[] = [];
    for (const name of tree.controllers) if (await handsDown(tree, parent, name)) controllers.push(name);
    await removeGroup(parent);
    return [{ ...tree, controllers }];
  } catch {
    return [];
  }
}

/** In version 1 a tree limits what it was mounted for; in version 2 a group only what the one above hands down. */
async function handsDown({ version, folder }: Tree, parent: string, name: Controller): Promise<boolean> {
  if (version === 1) return true;
  try {
    await enable(folder, [name]);
    await enable(parent, [name]);
    return true;
  } catch {
    return false;
  }
}

async function makeGroup(
  tree: Tree,
  { parent, group, limits }: { parent: string; group: string; limits: SandboxLimits },
): Promise<void> {
  // The end of another sandbox may take the empty parent away between two lines.
  for (let attempt = 1; ; attempt += 1) {
    try {
      await makeFolder(parent);
      if (tree.version === 2) await enable(parent, tree.controllers);
      await makeFolder(group);
      break;
    } catch (error) {
      if (!isAbsent(error) || attempt === 10) throw error;
    }
  }
  for (const { file, value, optional } of groupSettings(tree, limits)) {
    const written = writeFile(path.join(group, file), value);
    await (optional ? written.catch(() => undefined) : written);
  }
}

async function enable(folder: string, controllers: readonly Controller[]): Promise<void> {
  if (controllers.length === 0) return;
  await writeFile(
    path.join(folder, 'cgroup.subtree_control'),
    controllers.map((name) => `+${name}`).join(' '),
  );
}

function readMembers(group: string): number[] {
  try {
    const lines = readFileSync(path.join(group, membersFile), 'utf8').split('\n');
    // A process of a namespace that is not seen from here has the number 0.
    return lines.map(Number).filter((pid) => pid > 0);
  } catch (error) {
    passIfAbsent(error);
    return [];
  }
}

/** Not Node's recursive form, which never ends where the kernel refuses a name. */
async function makeFolder(group: string): Promise<void> {
  try {
    await mkdir(group);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** True when the group is not there afterwards. */
async function removeGroup(group: string): Promise<boolean> {
  try {
    await rmdir(group);
    return true;
  } catch (error) {
    if (['EBUSY', 'ENOTEMPTY'].includes(String((error as NodeJS.ErrnoException).code))) return false;
    // In a tree that cannot be written there is none of ours.
    if (isAbsent(error) || isRefusal(error)) return true;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return ['EROFS', 'EACCES', 'EPERM'].includes(String((error as NodeJS.ErrnoException).code));
}

function passIfAbsent(error: unknown): void {
  // A group that is removed while it is read answers ENODEV.
  if (!isAbsent(error) && (error as NodeJS.ErrnoException).code !== 'ENODEV') throw error;
}
