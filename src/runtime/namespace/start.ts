import { existsSync } from 'node:fs';
import path from 'node:path';
import { engineVariables, place } from '../../engine/place.ts';
import { UserSentenceError } from '../../lib/user-sentence.ts';
import { SandboxLostError, type SandboxSpec } from '../driver.ts';
import type { Disks } from './disks.ts';
import { endProcesses } from './end-processes.ts';
import { readEngineLog } from './engine-log.ts';
import { findLink } from './find-link.ts';
import type { Groups } from './groups.ts';
import { listInheritable } from './inheritable.ts';
import { inotifyShares, readKernelLimits } from './kernel-limits.ts';
import { LaunchError, launch } from './launch.ts';
import { engineEnvironment, mountedPaths } from './launch-spec.ts';
import type { Layers } from './layers.ts';
import type { Layout } from './layout.ts';
import { hostPaths, type Machine } from './machine.ts';
import type { SandboxRecord } from './records.ts';
import { seccompFilter } from './seccomp-filter.ts';
import { prepareStage, type ReadOnlyMount } from './stage.ts';
import { linkRefusal } from './start-script.ts';

/** They are read by the sandbox's user outside, so everybody must be able to read them. */
export type EngineFiles = {
  bundle: string;
  /** The binary. */
  node: string;
  compileCache: string | null;
};

type Parts = { layout: Layout; machine: Machine; disks: Disks; groups: Groups; layers: Layers };
type Options = { engine: EngineFiles; gatewayFolder: string; readOnly: readonly ReadOnlyMount[] };

/** How long a start may take on a busy machine. */
const startTimeoutMs = 60_000;

/** Starts sandboxes whose disk is there. Repeated after a crash, it ends what the earlier start has left and begins anew. */
export function createStarter({ layout, machine, disks, groups, layers }: Parts, options: Options) {
  const { bundle, node, compileCache } = options.engine;
  const shown: ReadOnlyMount[] = [
    { host: node, inside: place.node },
    { host: bundle, inside: place.engineBundle },
    ...(compileCache === null ? [] : [{ host: compileCache, inside: place.compileCache }]),
    { host: options.gatewayFolder, inside: place.gatewayFolder },
    ...options.readOnly,
  ];
  // What root writes there would be for the whole machine.
  const shares = machine.identity === 'service_user' ? inotifyShares(readKernelLimits(machine)) : [];
  const inherited = listInheritable();
  const filter = seccompFilter(process.arch === 'x64' ? 'x64' : 'arm64');

  return async function start(
    record: SandboxRecord,
    spec: SandboxSpec,
    {
      signal,
      command = [place.node, place.engineBundle],
    }: { signal?: AbortSignal | undefined; command?: string[] },
  ): Promise<void> {
    const { key } = record;
    const paths = layout.sandbox(key);
    const secret = spec.engineEnvironment[engineVariables.secret] ?? null;
    const bound = AbortSignal.any([AbortSignal.timeout(startTimeoutMs), ...(signal ? [signal] : [])]);
    bound.throwIfAborted();
    await endProcesses(key, { paths, groups, machine });
    if (record.disk === 'image') await disks.release(paths);
    const below = await layers.readAll(record.layers);
    if (!Array.isArray(below))
      throw new SandboxLostError(`The layer ${below.missing} that ${key} stands on is gone.`);
    if (!existsSync(record.base))
      throw new SandboxLostError(`The base ${record.base} that ${key} stands on is gone.`);
    refuseLinks(record.base, shown);

    try {
      const staged = await prepareStage({ paths, record, layers: below, readOnly: shown, machine });
      await launch(
        {
          paths,
          machine,
          spec: {
            ...staged,
            identity: machine.identity,
            hostPaths: path.dirname(record.base) === layout.bases ? hostPaths(machine.host) : [],
            environment: engineEnvironment(spec.engineEnvironment, { compileCache: compileCache !== null }),
            limits: spec.limits,
          },
          command,
          groups: await groups.make(key, spec.limits),
          shares,
          filter,
          inherited,
          secret,
        },
        bound,
      );
    } catch (error) {
      await endProcesses(key, { paths, groups, machine });
      if (record.disk === 'image') await disks.release(paths);
      bound.throwIfAborted();
      if (!(error instanceof LaunchError)) throw error;
      if (isDiskFailure(error.message, paths.disk))
        throw new SandboxLostError(`The disk of the sandbox ${key} cannot be read.`, { cause: error });
      const [refusal] = linkRefusal.exec(error.message) ?? [];
      if (refusal !== undefined) throw new UserSentenceError(refusal, { cause: error });
      const log = await readEngineLog(paths, { disk: record.disk, secret });
      throw new Error(`The sandbox ${key} could not be started. ${[error.message, log].join(' ').trim()}`, {
        cause: error,
      });
    }
  };
}

/** No retry mends it, and its owner can only hear that somebody else must. */
function refuseLinks(base: string, mounts: readonly ReadOnlyMount[]): void {
  const link = findLink(base, mountedPaths({ hostPaths: [], mounts }));
  if (link === undefined) return;
  throw new UserSentenceError(
    `In the base that workspaces stand on, ${link} is a link, and a sandbox cannot be put together over a link: whoever runs this service has to make another base with "replica base build --force".`,
  );
}

/** What mount says of a file system that is damaged. */
function isDiskFailure(message: string, disk: string): boolean {
  return message.includes(`${disk}: `) && /superblock|structure needs cleaning/i.test(message);
}
