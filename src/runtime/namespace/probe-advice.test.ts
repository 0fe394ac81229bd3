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
    inotifyInstances: 8_192,
    inotifyWatches: 1_048_576,
  },
  controllers: new Set(['cpu', 'memory', 'pids']),
  kernel: { major: 6, minor: 1 },
};
const user: Findings = {
  ...good,
  machine: { identity: 'service_user', disk: 'folder' },
  controllers: new Set(),
};
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
  ['few watchers', withSettings({ inotifyInstances: 128 }), /128 of fs.inotify.max_user_instances/],
  ['few watches', withSettings({ inotifyWatches: 8_192 }), /fs.inotify.max_user_watches/],
  [
    'no memory group',
    { ...good, controllers: new Set(['cpu', 'pids'] as const) },
    /control groups for memory/,
  ],
  ['no images', { ...good, machine: { identity: 'own_range', disk: 'folder' } }, /e2fsprogs/],
  ['an ordinary user', user, /run the service as root/],
])('%s is worth a warning', (_name, findings, warning) => {
  expect(findWarnings(findings)).toEqual([expect.stringMatching(warning)]);
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
