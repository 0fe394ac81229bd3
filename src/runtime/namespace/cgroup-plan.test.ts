import { describe, expect, test } from 'vitest';
import { groupSettings, type Hierarchy, parseHierarchies, planTrees } from './cgroup-plan.ts';

const line = (folder: string, type: string, options: string) =>
  `30 29 0:26 / ${folder} rw,relatime shared:9 - ${type} ${type} ${options}`;

describe('the trees of a machine', () => {
  test.each<[string, string[], Hierarchy[]]>([
    [
      'version 1 has a tree per controller',
      [
        line('/sys/fs/cgroup/cpu', 'cgroup', 'rw,cpu,cpuacct'),
        line('/sys/fs/cgroup/systemd', 'cgroup', 'rw,name=systemd'),
        line('/sys/fs/cgroup/unified', 'cgroup2', 'rw'),
      ],
      [
        { version: 1, folder: '/sys/fs/cgroup/cpu', controllers: ['cpu', 'cpuacct'] },
        { version: 1, folder: '/sys/fs/cgroup/systemd', controllers: ['name=systemd'] },
        { version: 2, folder: '/sys/fs/cgroup/unified', controllers: [] },
      ],
    ],
    [
      'a tree that is mounted twice counts once',
      [line('/sys/fs/cgroup', 'cgroup2', 'rw,nsdelegate'), line('/mnt/again', 'cgroup2', 'rw')],
      [{ version: 2, folder: '/sys/fs/cgroup', controllers: [] }],
    ],
    [
      'odd names are unescaped',
      [line('/my\\040groups', 'cgroup2', 'rw')],
      [{ version: 2, folder: '/my groups', controllers: [] }],
    ],
    ['other file systems do not count', [line('/tmp', 'tmpfs', 'rw')], []],
  ])('%s', (_name, lines, hierarchies) => {
    expect(parseHierarchies(`${lines.join('\n')}\n`)).toEqual(hierarchies);
  });
});

describe('where groups are made', () => {
  test.each<[string, Hierarchy[], ReturnType<typeof planTrees>]>([
    [
      'on a pure version 2',
      [{ version: 2, folder: '/v2', controllers: ['cpuset', 'cpu', 'io', 'memory', 'pids'] }],
      [{ version: 2, folder: '/v2', controllers: ['cpu', 'memory', 'pids'] }],
    ],
    [
      'on both, version 1 has the controllers and version 2 ends the group',
      [
        { version: 2, folder: '/v2', controllers: ['hugetlb'] },
        { version: 1, folder: '/cpu', controllers: ['cpu', 'cpuacct'] },
        { version: 1, folder: '/memory', controllers: ['memory'] },
        { version: 1, folder: '/pids', controllers: ['pids'] },
        { version: 1, folder: '/freezer', controllers: ['freezer'] },
        { version: 1, folder: '/systemd', controllers: ['name=systemd'] },
      ],
      [
        { version: 1, folder: '/cpu', controllers: ['cpu'] },
        { version: 1, folder: '/memory', controllers: ['memory'] },
        { version: 1, folder: '/pids', controllers: ['pids'] },
        { version: 1, folder: '/systemd', controllers: [] },
        { version: 2, folder: '/v2', controllers: [] },
      ],
    ],
    [
      'a controller is taken from one tree only',
      [
        { version: 1, folder: '/memory', controllers: ['memory'] },
        { version: 2, folder: '/v2', controllers: ['memory', 'pids'] },
      ],
      [
        { version: 1, folder: '/memory', controllers: ['memory'] },
        { version: 2, folder: '/v2', controllers: ['pids'] },
      ],
    ],
    ['on a machine without any', [], []],
  ])('%s', (_name, hierarchies, trees) => {
    expect(planTrees(hierarchies)).toEqual(trees);
  });
});

describe('the limits of a group', () => {
  const limits = { cpus: 1.5, memoryMiB: 256, diskMiB: 1024, processes: 64 };
  test.each([
    [
      1 as const,
      [
        ['cpu.cfs_period_us', '100000'],
        ['cpu.cfs_quota_us', '150000'],
        ['memory.limit_in_bytes', '268435456'],
        ['memory.memsw.limit_in_bytes', '268435456'],
        ['memory.swappiness', '0'],
        ['pids.max', '64'],
      ],
    ],
    [
      2 as const,
      [
        ['cpu.max', '150000 100000'],
        ['memory.max', '268435456'],
        ['memory.swap.max', '0'],
        ['pids.max', '64'],
      ],
    ],
  ])('in version %d', (version, expected) => {
    const tree = { version, folder: '/x', controllers: ['cpu', 'memory', 'pids'] as const };
    expect(groupSettings(tree, limits).map(({ file, value }) => [file, value])).toEqual(expected);
  });
});
