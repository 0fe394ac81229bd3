import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { SandboxLimits } from '../../src/runtime/driver.ts';
import { createLayout } from '../../src/runtime/namespace/layout.ts';
import { openDriver } from '../../src/runtime/registry.ts';
import { findRemains } from '../runtime/namespace-world.ts';
import { canIsolate, createLiveReplica, type LiveReplica } from '../world/live.ts';
import { type Organization, startWorld, until } from '../world/world.ts';

/** Small enough that every limit is reached in a moment. */
export const limits: SandboxLimits = { cpus: 2, memoryMiB: 512, diskMiB: 192, processes: 150 };

/** Why nothing can be tried here. */
export const obstacle = canIsolate ? undefined : 'sandboxes cannot be isolated here';

/** Why limits cannot be tried here: only root has control groups and disks of a fixed size. */
export const limitObstacle =
  obstacle ?? (process.getuid?.() === 0 ? undefined : 'the tests do not run as root');

/** The title of a group of tests, which says why they are left out where they are. */
export const titled = (title: string, why: string | undefined) =>
  why ? `${title} (skipped: ${why})` : title;

export type EscapeWorld = Awaited<ReturnType<typeof startEscapeWorld>>;

/** A service with real, small sandboxes: one of a thief, and one of a neighbour of another organization. */
export async function startEscapeWorld(environment: Record<string, string> = {}) {
  const world = await startWorld({
    environment: { REPLICA_RUNTIME: 'namespace', ...environment },
    replaced: { openDriver: openSmallDriver },
  });
  const root = path.join(world.folder, 'runtime', 'namespace');
  const [org, otherOrg] = [await world.org('Thief'), await world.org('Neighbour')];
  const environment_id = await makeEnvironment(org);
  const create = (body: object = {}) => createLiveReplica({ world, org }, { environment_id, ...body });
  let neighbour: LiveReplica | undefined;

  async function findNeighbour(): Promise<LiveReplica> {
    neighbour ??= await createLiveReplica(
      { world, org: otherOrg },
      { environment_id: await makeEnvironment(otherOrg) },
    );
    return neighbour;
  }

  return {
    world,
    org,
    otherOrg,
    create,
    neighbour: findNeighbour,

    /** The service answers, and the sandbox of somebody else works. */
    async goesOn(): Promise<boolean> {
      const { status } = await otherOrg.call('GET', '/v1/replica');
      const { output } = await (await findNeighbour()).run('echo alive');
      return status === 200 && output === 'alive\n';
    },

    async sleep(replica: LiveReplica): Promise<void> {
      await org.call('POST', `/v1/workspaces/${replica.id}/sleep`);
      await replica.reach('sleeping');
    },

    async wake(replica: LiveReplica): Promise<void> {
      await org.call('POST', `/v1/replica/${replica.id}/wake`);
      await until(async () => (await replica.rowOf()).state === 'active', { timeoutMs: 20_000 });
    },

    /** Deletes a replica and waits until nothing of its sandbox is left. */
    async remove(replica: LiveReplica): Promise<void> {
      const { sandbox_id } = await replica.rowOf();
      await org.call('DELETE', `/v1/replica/${replica.id}`);
      await until(() => traces(root, sandbox_id ?? '').length === 0, { timeoutMs: 30_000 });
    },

    /** Ends everything, and says what is left on the machine. */
    async close(): Promise<string[]> {
      await world.close();
      return [...(await findRemains(root)), ...groupsNamed(createLayout(root).groupName)];
    },
  };
}

/** An environment without a repository. */
async function makeEnvironment(org: Organization): Promise<string> {
  const { body } = await org.call('POST', '/v1/environments', { name: 'plain' });
  return body.environment.id;
}

/** Folders and groups of one sandbox. */
function traces(root: string, sandboxId: string): string[] {
  const folders = list(path.join(root, 'sandboxes')).filter((name) => name === sandboxId);
  return [...folders, ...groupsNamed(path.join(createLayout(root).groupName, `sandbox-${sandboxId}`))];
}

function groupsNamed(name: string): string[] {
  const trees = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , type]) => type === 'cgroup' || type === 'cgroup2');
  return trees.map(([, folder = '']) => path.join(folder, name)).filter((group) => list(group).length > 0);
}

async function openSmallDriver(options: Parameters<typeof openDriver>[0]) {
  const driver = await openDriver(options);
  return {
    ...driver,
    create: ((key, spec, signal) => driver.create(key, { ...spec, limits }, signal)) as typeof driver.create,
    resume: ((key, spec, signal) => driver.resume(key, { ...spec, limits }, signal)) as typeof driver.resume,
  };
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
