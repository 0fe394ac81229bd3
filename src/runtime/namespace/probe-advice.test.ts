import { describe, expect, test } from 'vitest';
import {
  adviseOnFailure,
  describeLimits,
  type Findings,
  findProblems,
  findWarnings,
} from './probe-advice.ts';

const good: Findings = {
  platform: 'linux',
  architecture: 'x64',
  machine: { identity: 'own_range', disk: 'image' },
  missingPrograms: [],
  missingFiles: [],
  settings: {
    maxUserNamespaces: 10_000,
    unprivilegedUserNamespaces: undefined,
    restrictedUserNamespaces: undefined,
  },
  kernelLimits: [{ name: 'fs.file-max', value: 100, wanted: 1_000, canBeRaised: true }],
  controllers: new Set(['cpu', 'memory', 'pids']),
  kernel: { major: 6, minor: 1 },
};
const user: Findings = {
  ...good,
  machine: { identity: 'service_user', disk: 'folder' },
  controllers: new Set(),
};
const fewWatchers = [
  { name: 'fs.inotify.max_user_instances', value: 128, wanted: 9_000, canBeRaised: false },
];
const withSettings = (settings: Partial<Findings['settings']>) => ({
  ...good,
  settings: { ...good.settings, ...settings },
});

test('a good machine has neither problems nor warnings', () => {
  expect([findProblems(good), findWarnings(good)]).toEqual([[], []]);
});

test.each<[string, Findings, RegExp]>([
  ['Linux', { ...good, platform: 'darwin', missingPrograms: ['bwrap'] }, /Linux virtual machine/],
  ['a known machine', { ...good, architecture: 'riscv64' }, /x64 and arm64/],
  ['bubblewrap', { ...good, missingPrograms: ['bwrap'] }, /install the package bubblewrap/],
  ['a mount program', { ...good, missingPrograms: ['mount'] }, /install the package util-linux/],
  ['the engine', { ...good, missingFiles: ['/opt/engine.mjs'] }, /\/opt\/engine.mjs is missing/],
  ['namespaces', withSettings({ maxUserNamespaces: 0 }), /sysctl user.max_user_namespaces/],
  [
    'them for users',
    withSettings({ unprivilegedUserNamespaces: 0 }),
    /kernel.unprivileged_userns_clone to 1/,
  ],
])('the lack of %s is a problem with a way out', (_name, findings, problem) => {
  expect(findProblems(findings)).toEqual([expect.stringMatching(problem)]);
});

test.each<[string, Findings, RegExp]>([
  ['few watchers', { ...good, kernelLimits: fewWatchers }, /max_user_instances is 128.*sysctl to 9000 or/],
  [
    'no group for processors',
    { ...good, controllers: new Set(['memory', 'pids']) },
    /control groups for cpu/,
  ],
  ['no images', { ...good, machine: { identity: 'own_range', disk: 'folder' } }, /e2fsprogs/],
  ['an ordinary user', user, /run the service as root/],
])('%s is worth a warning', (_name, findings, warning) => {
  expect(findWarnings(findings)).toEqual([expect.stringMatching(warning)]);
});

test('an ordinary user is told that somebody else must raise a limit, and root that one sandbox can take everything', () => {
  expect(findWarnings({ ...user, kernelLimits: fewWatchers })).toEqual([
    expect.stringContaining('run the service as root'),
    expect.stringMatching(/max_user_instances is 128.*quarter.*as root/),
  ]);
  expect(findWarnings({ ...good, controllers: new Set(['cpu', 'pids']) })).toEqual([
    expect.stringContaining('control groups for memory'),
    expect.stringContaining('one sandbox can also open every file'),
  ]);
});

describe('a start that failed', () => {
  test.each<[string, Findings, string, RegExp]>([
    [
      'under AppArmor',
      withSettings({ restrictedUserNamespaces: 1 }),
      'setting up uid map: denied',
      /AppArmor/,
    ],
    ['on overlayfs', user, 'mount: overlay: wrong fs type', /ext4, xfs or btrfs/],
    ['in a container', good, 'mount: Operation not permitted', /privileged/],
  ])('%s says what to try', (_name, findings, message, advice) => {
    const sentence = adviseOnFailure(findings, message);
    expect(sentence).toMatch(advice);
    expect(sentence).toContain(message);
  });
});

test.each<[string, Findings, ReturnType<typeof describeLimits>]>([
  ['root with groups', good, { cpus: 'hard', memory: 'hard', disk: 'hard', processes: 'hard' }],
  ['an ordinary user', user, { cpus: 'none', memory: 'none', disk: 'none', processes: 'hard' }],
  [
    'an ordinary user on an old kernel',
    { ...user, kernel: { major: 5, minor: 10 } },
    { cpus: 'none', memory: 'none', disk: 'none', processes: 'none' },
  ],
])('the limits of %s', (_name, findings, limits) => {
  expect(describeLimits(findings)).toEqual(limits);
});
