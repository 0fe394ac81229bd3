import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import path from 'node:path';
import type { Logger } from 'pino';
import { findIdentity, type Machine } from './machine.ts';

/** A setting of the kernel that counts for a user or for the machine, and so for all sandboxes together. */
export type KernelLimit = {
  /** As `sysctl` knows it. */
  name: string;
  value: number;
  /** What it should be at least. */
  wanted: number;
  canBeRaised: boolean;
};

type Options = {
  identity?: Machine['identity'];
  memoryBytes?: number;
  /** Where the kernel shows its settings. */
  folder?: string;
};

/**
 * What one of each takes of the memory that the group of its maker may use, at least. Where as many are allowed as fit
 * into the memory of the machine, a sandbox comes to the end of its own memory before it takes them from others.
 */
const bytesPerPiece = {
  'fs.inotify.max_user_instances': 512,
  'fs.inotify.max_user_watches': 64,
  'fs.epoll.max_user_watches': 128,
  'fs.file-max': 128,
} as const;
type LimitName = keyof typeof bytesPerPiece;

/** Without a limit for memory there is nothing to go by but what programs usually need. */
const usual: Partial<Record<LimitName, number>> = {
  'fs.inotify.max_user_instances': 1_024,
  'fs.inotify.max_user_watches': 524_288,
};

/** The kernel keeps some of them in 31 bits. */
const MOST = 2 ** 31 - 1;

/** Those that this kernel has and that matter to this user. */
export function readKernelLimits({
  identity = findIdentity(),
  memoryBytes = totalmem(),
  folder = '/proc/sys',
}: Options = {}): KernelLimit[] {
  const isRoot = identity === 'own_range';
  return Object.entries(bytesPerPiece).flatMap(([name, bytes]) => {
    const wanted = isRoot ? Math.min(Math.floor(memoryBytes / bytes), MOST) : usual[name as LimitName];
    const file = fileOf(folder, name);
    const value = readNumber(file);
    if (wanted === undefined || value === undefined) return [];
    return [{ name, value, wanted, canBeRaised: isRoot && isWritable(file) }];
  });
}

/** Raises what is too low and can be raised, for as long as the machine runs. Nothing is ever lowered. */
export function raiseKernelLimits({ log, ...options }: Options & { log: Logger }): void {
  const { folder = '/proc/sys' } = options;
  const low = readKernelLimits(options).filter(({ value, wanted }) => value < wanted);
  const raised: Record<string, { from: number; to: number }> = {};
  for (const { name, value, wanted } of low.filter(({ canBeRaised }) => canBeRaised)) {
    try {
      writeFileSync(fileOf(folder, name), String(wanted));
      raised[name] = { from: value, to: wanted };
    } catch (error) {
      log.warn({ setting: name, value, wanted, err: error }, 'runtime.kernel_limit_kept');
    }
  }
  if (Object.keys(raised).length > 0) log.info({ raised }, 'runtime.kernel_limits_raised');
}

/**
 * What one sandbox of an ordinary user may take: nobody limits its memory, and it shares these with everything else of
 * that user. Each is a name in the settings of its user namespace, and a number.
 */
export function inotifyShares(limits: readonly KernelLimit[]): string[] {
  const shareOf = (name: LimitName) => {
    const limit = limits.find((one) => one.name === name);
    return limit ? [Math.min(Math.max(1, Math.floor(limit.value / 4)), limit.wanted)] : [];
  };
  return [
    ...shareOf('fs.inotify.max_user_instances').map((share) => `max_inotify_instances=${share}`),
    ...shareOf('fs.inotify.max_user_watches').map((share) => `max_inotify_watches=${share}`),
  ];
}

const fileOf = (folder: string, name: string) => path.join(folder, name.replaceAll('.', '/'));

function readNumber(file: string): number | undefined {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Settings are shown read-only in most containers. */
function isWritable(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
