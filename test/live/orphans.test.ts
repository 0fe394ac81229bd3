import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canIsolate, createLiveReplica, processesOf, startLiveWorld } from '../world/live.ts';
import { loseDisk, sandboxFolder } from '../world/lost-disk.ts';
import { type Organization, until, type World } from '../world/world.ts';

describe.skipIf(!canIsolate)('what is left behind', () => {
  let world: World;
  let org: Organization;

  beforeAll(async () => {
    world = await startLiveWorld();
    org = await world.org();
  });
  afterAll(() => world?.close());

  const folderOf = (sandboxId: string) => sandboxFolder(world.folder, sandboxId);

  async function liveReplica() {
    const made = await org.call('POST', '/v1/environments', { name: `e${performance.now()}` });
    const replica = await createLiveReplica({ world, org }, { environment_id: made.body.environment.id });
    await replica.reach('active');
    const { sandbox_id } = await replica.rowOf();
    return { replica, sandboxId: sandbox_id ?? '' };
  }

  it('is removed when it is a sandbox without a row: processes, groups, disk and sockets', async () => {
    const { replica, sandboxId } = await liveReplica();
    expect(processesOf(sandboxId)).not.toEqual([]);
    expect(existsSync(folderOf(sandboxId))).toBe(true);

    await world.db.deleteFrom('replica').where('id', '=', replica.id).execute();
    await world.db.deleteFrom('sandbox').where('id', '=', sandboxId).execute();

    await until(() => processesOf(sandboxId).length === 0 && !existsSync(folderOf(sandboxId)), {
      timeoutMs: 30_000,
    });
    expect(groupsOf(sandboxId)).toEqual([]);
  });

  it('is rebuilt when it is a row without a sandbox', async () => {
    const { replica, sandboxId } = await liveReplica();
    await replica.kill();
    await loseDisk(world.folder, sandboxId);

    await until(async () => (await replica.rowOf()).state === 'active' && (await isAnother()), {
      timeoutMs: 60_000,
    });
    expect((await replica.run('echo again')).output).toContain('again');

    async function isAnother(): Promise<boolean> {
      const { sandbox_id } = await replica.rowOf();
      return sandbox_id !== null && processesOf(sandbox_id).length > 0;
    }
  });

  it('is nothing once a replica was deleted', async () => {
    const { replica, sandboxId } = await liveReplica();
    await org.call('DELETE', `/v1/replica/${replica.id}`);
    await until(() => processesOf(sandboxId).length === 0 && !existsSync(folderOf(sandboxId)), {
      timeoutMs: 30_000,
    });
    expect(groupsOf(sandboxId)).toEqual([]);
  });
});

/** Control groups that carry the sandbox's id in their name, in whichever hierarchy. */
function groupsOf(sandboxId: string): string[] {
  const root = '/sys/fs/cgroup';
  const trees = existsSync(root) ? [root, ...readdirSync(root).map((name) => path.join(root, name))] : [];
  return trees.flatMap((tree) => {
    try {
      return readdirSync(tree, { recursive: true, encoding: 'utf8' }).filter((name) =>
        name.includes(sandboxId),
      );
    } catch {
      return [];
    }
  });
}
