import { newId } from '../../src/lib/ids.ts';
import { loadHostId } from '../../src/sandbox/host.ts';
import type { Organization, World } from '../world/world.ts';

export type PoolAtRest = Awaited<ReturnType<typeof makePoolAtRest>>;

/** A pool that is on and begins nothing, because it waits after a failure; a test puts workspaces into it. */
export async function makePoolAtRest(
  world: World,
  org: Organization,
  { generation }: { generation: number },
) {
  // Of all environments only the Global one begins without a pool, so that nothing is in it from before.
  const made = await org.call('PUT', '/v1/environments/global/warm-pools', { enabled: false });
  const { id, environment_id } = made.body.warm_pool;
  await world.db
    .updateTable('warm_pool')
    .set({ enabled: true, generation, next_retry_at: new Date('2999-01-01') })
    .where('id', '=', id)
    .execute();
  const hostId = loadHostId(world.folder, newId);

  return {
    id: id as string,
    environmentId: environment_id as string,
    hostId,
    async add(
      status: string,
      more: { generation?: number; at?: Date; host_id?: string; message?: string | null } = {},
    ): Promise<string> {
      const { at = new Date(), message = null, ...rest } = more;
      const workspaceId = newId();
      await world.db
        .insertInto('warm_pool_workspace')
        .values({
          id: workspaceId,
          organization_id: org.id,
          warm_pool_id: id,
          status,
          generation,
          host_id: hostId,
          error_message: message,
          created_at: at,
          updated_at: at,
          ...rest,
        })
        .execute();
      return workspaceId;
    },
  };
}
