import path from 'node:path';
import { ENGINE_LISTEN_FD, place } from '../../engine/place.ts';
import type { SandboxLimits } from '../driver.ts';

/** Descriptors of the process that becomes bubblewrap. Only the listening socket reaches the engine. */
export const descriptors = {
  listen: ENGINE_LISTEN_FD,
  /** Says that the process is on record and may begin. */
  go: 4,
  arguments: 5,
  info: 6,
  /** Says that the user map is written. */
  mapped: 7,
  seccomp: 8,
} as const;

/** The user and group that root of a sandbox is outside, and how many follow. */
export const idRange = { first: 100_000, count: 65_536 } as const;

export type LaunchSpec = {
  /** `own_range` maps root inside to the first of a range; `service_user` maps it to the user that runs the service. */
  identity: 'own_range' | 'service_user';
  /** The folder that holds the root and the mounts, by a path that the sandbox's user outside can walk. */
  stage: string;
  /** Paths of the host that are shown read-only; none when the base brings its own programs. */
  hostPaths: readonly string[];
  /** Names in the stage and where each is shown read-only. */
  mounts: readonly { name: string; inside: string }[];
  environment: Readonly<Record<string, string>>;
  limits: SandboxLimits;
};

/** What bubblewrap reads over a descriptor, so that no value is seen in the list of processes. */
export function bubblewrapArguments(spec: LaunchSpec): string[] {
  const half = Math.floor(spec.limits.memoryMiB / 2) * 1024 * 1024;
  return [
    ...[
      '--unshare-all',
      '--unshare-user',
      '--uid',
      '0',
      '--gid',
      '0',
      '--hostname',
      'replica',
      '--new-session',
    ],
    ...['--cap-drop', 'ALL', ...capabilities.flatMap((name) => ['--cap-add', name])],
    ...['--bind', `${spec.stage}/m`, '/'],
    ...foldersAbove(spec).flatMap((folder) => ['--dir', folder]),
    ...spec.hostPaths.flatMap((shown) => ['--ro-bind-try', shown, shown]),
    ...['--proc', '/proc', '--dev', '/dev'],
    ...['--perms', '1777', '--size', String(half), '--tmpfs', '/dev/shm', '--remount-ro', '/dev'],
    ...['--perms', '0755', '--size', String(runBytes), '--tmpfs', '/run'],
    ...spec.mounts.flatMap(({ name, inside }) => ['--ro-bind', `${spec.stage}/${name}`, inside]),
    ...['--dir', place.home, '--chdir', place.home, '--clearenv'],
    ...Object.entries(spec.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--seccomp', String(descriptors.seccomp), '--info-fd', String(descriptors.info)],
    ...(spec.identity === 'own_range' ? ['--userns-block-fd', String(descriptors.mapped)] : []),
  ];
}

/** The program and arguments that the start script becomes. */
export function bubblewrapCommand(
  { identity, limits }: Pick<LaunchSpec, 'identity' | 'limits'>,
  command: readonly string[],
): string[] {
  const bubblewrap = ['bwrap', '--args', String(descriptors.arguments), '--', ...command];
  if (identity === 'own_range') {
    const id = String(idRange.first);
    // Bubblewrap started by root leaves the settings of the kernel writable inside.
    return ['setpriv', '--reuid', id, '--regid', id, '--clear-groups', ...bubblewrap];
  }
  // Counted within the user namespace of this sandbox, which exists by then.
  return ['prlimit', `--nproc=${limits.processes}:${limits.processes}`, ...bubblewrap];
}

/** The variables that every engine starts with; those of the caller win. */
export function engineEnvironment(
  given: Readonly<Record<string, string>>,
  { compileCache }: { compileCache: boolean },
): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    HOME: place.home,
    USER: 'root',
    LOGNAME: 'root',
    SHELL: '/bin/bash',
    LANG: 'C.UTF-8',
    ...(compileCache ? { NODE_COMPILE_CACHE: place.compileCache } : {}),
    ...given,
  };
}

/**
 * Paths that bubblewrap mounts on, and all above them. A workspace can replace such a folder by a link, and bubblewrap
 * would follow it out of the root that it is putting together.
 */
export function mountedPaths(spec: Targets): string[] {
  return [...new Set(targetsOf(spec).flatMap((target) => [...parentsOf(target), target]))].sort();
}

/** Bubblewrap would make missing ones for root alone. */
function foldersAbove(spec: LaunchSpec): string[] {
  return [...new Set(targetsOf(spec).flatMap(parentsOf))].sort();
}

type Targets = { hostPaths: readonly string[]; mounts: readonly { inside: string }[] };

function targetsOf({ hostPaths, mounts }: Targets): string[] {
  const targets = [...hostPaths, '/proc', '/dev', '/run', place.home, ...mounts.map(({ inside }) => inside)];
  // What is below /run is on a file system that is always new.
  return targets.filter((target) => !target.startsWith('/run/'));
}

function parentsOf(target: string): string[] {
  const parent = path.dirname(target);
  return parent === '/' ? [] : [...parentsOf(parent), parent];
}

/** What a root needs to install packages and to hand files to other users inside; nothing about the machine. */
const capabilities = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_SETGID',
  'CAP_SETUID',
];

const runBytes = 64 * 1024 * 1024;
