import type { Probe } from '../driver.ts';
import type { Controller } from './cgroup-plan.ts';
import type { KernelLimit } from './kernel-limits.ts';
import type { Machine } from './machine.ts';

/** Settings of the kernel that matter here; undefined where this kernel has no such setting. */
export const kernelSettings = {
  maxUserNamespaces: 'user/max_user_namespaces',
  unprivilegedUserNamespaces: 'kernel/unprivileged_userns_clone',
  restrictedUserNamespaces: 'kernel/apparmor_restrict_unprivileged_userns',
} as const;

export type KernelSettings = Readonly<Record<keyof typeof kernelSettings, number | undefined>>;

/** What is known before anything is started. */
export type Findings = {
  /** Node's names for the system and the machine. */
  platform: string;
  architecture: string;
  machine: Pick<Machine, 'identity' | 'disk'>;
  missingPrograms: readonly string[];
  missingFiles: readonly string[];
  settings: KernelSettings;
  kernelLimits: readonly KernelLimit[];
  controllers: ReadonlySet<Controller>;
  kernel: { major: number; minor: number };
};

/** Why no sandbox can be started, each with what to do. */
export function findProblems(findings: Findings): string[] {
  const { platform, architecture, missingPrograms, missingFiles, settings } = findings;
  if (platform !== 'linux')
    return [
      `Namespaces are there on Linux only, and this is ${platform}: run the service in a Linux virtual machine.`,
    ];
  return [
    ...(architecture === 'x64' || architecture === 'arm64'
      ? []
      : [
          `The calls that a sandbox is refused are known for x64 and arm64, and this is ${architecture}: use another machine.`,
        ]),
    ...missingPrograms.map(
      (name) => `The program ${name} is missing: install the package ${packageOf(name)}.`,
    ),
    ...missingFiles.map((file) => `${file} is missing or cannot be read: see the setting that names it.`),
    ...(settings.maxUserNamespaces === 0
      ? ['User namespaces are switched off: set the sysctl user.max_user_namespaces to 10000.']
      : []),
    ...(settings.unprivilegedUserNamespaces === 0
      ? [
          'User namespaces are kept from ordinary users: set the sysctl kernel.unprivileged_userns_clone to 1.',
        ]
      : []),
  ];
}

/** What to try when the start of a sandbox failed although nothing was missing. */
export function adviseOnFailure({ machine, settings }: Findings, message: string): string {
  const advice = [];
  if (settings.restrictedUserNamespaces === 1)
    advice.push(
      'AppArmor restricts user namespaces: set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0, or give bwrap a profile that allows them.',
    );
  if (/overlay/i.test(message) && machine.disk === 'folder')
    advice.push(
      'The data folder may be on a file system that overlayfs cannot write to: put it on ext4, xfs or btrfs.',
    );
  if (/loop/i.test(message)) advice.push('Loop devices may not be available: load the kernel module loop.');
  if (/permitted|permission denied/i.test(message) && machine.identity === 'own_range')
    advice.push('In a container the service needs to be privileged, or to run as an ordinary user.');
  return [`A sandbox could not be started here: ${message}`, ...advice].join(' ');
}

/** What works less well than it could, each with what to do. */
export function findWarnings({ machine, kernelLimits, controllers }: Findings): string[] {
  const root = machine.identity === 'own_range';
  const unlimited = (['cpu', 'memory', 'pids'] as const).filter((name) => !controllers.has(name));
  return [
    ...(root
      ? []
      : [
          'Sandboxes run as the user of the service and without limits for processors, memory and disk: run the service as root for users of their own and for limits.',
        ]),
    ...(root && unlimited.length > 0
      ? [
          `The control groups for ${unlimited.join(', ')} cannot be written, so these are not limited: mount them writable.`,
        ]
      : []),
    ...(root && !controllers.has('memory')
      ? [
          'Without a limit for memory, one sandbox can also open every file and watch every folder that the kernel allows to all of them.',
        ]
      : []),
    ...(root && machine.disk === 'folder'
      ? ['Disks are not limited: install the package e2fsprogs and load the kernel module loop.']
      : []),
    ...kernelLimits
      .filter(({ value, wanted, canBeRaised }) => value < wanted && !canBeRaised)
      .map((limit) => (root ? tooLowForAll(limit) : tooLowForUser(limit))),
  ];
}

export function describeLimits({ machine, controllers, kernel }: Findings): Probe['limits'] {
  const limited = (name: Controller) => (controllers.has(name) ? 'hard' : 'none');
  // Since 5.14 the kernel counts the processes of a user within each user namespace.
  const countsPerNamespace = kernel.major > 5 || (kernel.major === 5 && kernel.minor >= 14);
  const ordinary = machine.identity === 'service_user';
  return {
    cpus: limited('cpu'),
    memory: limited('memory'),
    disk: machine.disk === 'image' ? 'hard' : 'none',
    processes: ordinary && countsPerNamespace ? 'hard' : limited('pids'),
  };
}

/** All sandboxes count as one user for these. */
function tooLowForAll({ name, value, wanted }: KernelLimit): string {
  return `${name} is ${value} for all sandboxes together, so that one can take them from the others, and the service may not raise it here: set this sysctl to ${wanted} or more.`;
}

function tooLowForUser({ name, value, wanted }: KernelLimit): string {
  return `${name} is ${value} for everything that this user runs, of which a sandbox gets a quarter, and programs that watch files fail beyond it: as root, set this sysctl to ${wanted} or more.`;
}

function packageOf(program: string): string {
  return program === 'bwrap' ? 'bubblewrap' : program === 'rm' ? 'coreutils' : 'util-linux';
}
