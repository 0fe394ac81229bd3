import type { SandboxLimits } from '../driver.ts';

export type Controller = 'cpu' | 'memory' | 'pids';

/** One tree of control groups of this machine. */
export type Hierarchy = { version: 1 | 2; folder: string; controllers: readonly string[] };

/** A tree in which every sandbox has a group, and what is limited there. */
export type Tree = { version: 1 | 2; folder: string; controllers: readonly Controller[] };

/** A file of a group and what is written into it. `optional` ones are missing on some kernels. */
export type Setting = { file: string; value: string; optional?: true };

const controllers: readonly Controller[] = ['cpu', 'memory', 'pids'];

/** The trees that are mounted, from `/proc/self/mountinfo`. What version 2 controls stands in a file of its own. */
export function parseHierarchies(mountinfo: string): Hierarchy[] {
  const found: Hierarchy[] = [];
  for (const line of mountinfo.split('\n')) {
    const [mount = '', rest = ''] = line.split(' - ');
    const folder = decodeOctal(mount.split(' ')[4] ?? '');
    const [type, , options = ''] = rest.split(' ');
    if (type !== 'cgroup' && type !== 'cgroup2') continue;
    const version = type === 'cgroup' ? 1 : 2;
    const names = version === 1 ? options.split(',').filter((name) => name !== 'rw' && name !== 'ro') : [];
    if (found.some((other) => other.version === version && String(other.controllers) === String(names)))
      continue;
    found.push({ version, folder, controllers: names });
  }
  return found;
}

/**
 * Where sandboxes get groups: each controller in the one tree that has it. Version 2 is always among them, since it can
 * end a group at once, and so is systemd's own tree, since systemd ends what it finds below a service that stops.
 */
export function planTrees(hierarchies: readonly Hierarchy[]): Tree[] {
  const taken = new Set<Controller>();
  const oldestFirst = [...hierarchies].sort((one, other) => one.version - other.version);
  return oldestFirst.flatMap(({ version, folder, controllers: names }) => {
    const mine = controllers.filter((name) => names.includes(name) && !taken.has(name));
    for (const name of mine) taken.add(name);
    const needed = mine.length > 0 || version === 2 || names.includes('name=systemd');
    return needed ? [{ version, folder, controllers: mine }] : [];
  });
}

/** What is written into a sandbox's group, in this order. */
export function groupSettings({ version, controllers: names }: Tree, limits: SandboxLimits): Setting[] {
  return names.flatMap((name) => settings[version][name](limits));
}

const periodUs = 100_000;
const quotaUs = ({ cpus }: SandboxLimits) => String(Math.max(1_000, Math.round(cpus * periodUs)));
const bytes = ({ memoryMiB }: SandboxLimits) => String(memoryMiB * 1024 * 1024);

const settings: Record<1 | 2, Record<Controller, (limits: SandboxLimits) => Setting[]>> = {
  1: {
    cpu: (limits) => [
      { file: 'cpu.cfs_period_us', value: String(periodUs) },
      { file: 'cpu.cfs_quota_us', value: quotaUs(limits) },
    ],
    memory: (limits) => [
      { file: 'memory.limit_in_bytes', value: bytes(limits) },
      // Memory and swap together: what is over the limit does not go to swap. Kernels without the count have no file.
      { file: 'memory.memsw.limit_in_bytes', value: bytes(limits), optional: true },
      { file: 'memory.swappiness', value: '0', optional: true },
    ],
    pids: ({ processes }) => [{ file: 'pids.max', value: String(processes) }],
  },
  2: {
    cpu: (limits) => [{ file: 'cpu.max', value: `${quotaUs(limits)} ${periodUs}` }],
    memory: (limits) => [
      { file: 'memory.max', value: bytes(limits) },
      { file: 'memory.swap.max', value: '0', optional: true },
    ],
    pids: ({ processes }) => [{ file: 'pids.max', value: String(processes) }],
  },
};

function decodeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
