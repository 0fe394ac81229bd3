import type { Db } from '../db/database.ts';
import type { SandboxService } from '../sandbox/service.ts';
import { selectLayer, selectLayerById } from './layer-store.ts';
import { CLAIM_REST_MS } from './plan.ts';
import * as store from './workspace-store.ts';
import { askReconcile } from './workspaces.ts';

type Parts = {
  sandboxes: Pick<SandboxService, 'hostId' | 'giveToReplica' | 'lock'>;
  /** The size of a replica whose creator named none. */
  tierOf: (db: Db, organizationId: string) => Promise<string>;
  now: () => Date;
};
type Wanted = { organizationId: string; environmentId: string; replicaId: string; size: string | null };
type Claim = { sandboxId: string; workspaceId: string; reason: string } | { reason: string };

/**
 * Takes a ready workspace for a new replica, in the transaction that makes the replica: it is taken by one replica or by
 * none. Without one the replica starts cold, and the reason says why.
 */
export function createClaim({ sandboxes, tierOf, now }: Parts) {
  return async function claim(db: Db, wanted: Wanted): Promise<Claim> {
    const pool = await store.selectPoolOfEnvironment(db, wanted.environmentId);
    if (!pool || pool.organization_id !== wanted.organizationId || !pool.enabled) {
      return { reason: 'The environment has no warm pool that is on.' };
    }
    const size = wanted.size ?? (await tierOf(db, wanted.organizationId));
    const { generation } = pool;
    for (;;) {
      const found = await store.lockReadyWorkspace(db, {
        poolId: pool.id,
        generation,
        size,
        hostId: sandboxes.hostId,
      });
      if (!found?.sandbox_id) {
        const isOther = isOfAnotherSize(pool, size);
        return {
          reason: isOther ? `Warm workspaces have the size ${pool.size}.` : 'No warm workspace was ready.',
        };
      }
      const sandbox = await sandboxes.lock(db, found.sandbox_id);
      if (!sandbox || sandbox.removing_at) {
        await store.updateWorkspace(db, found.id, { status: 'expired', updated_at: now() });
        continue;
      }
      await store.updateWorkspace(db, found.id, {
        status: 'assigned',
        replica_id: wanted.replicaId,
        updated_at: now(),
      });
      await sandboxes.giveToReplica(db, { id: sandbox.id, replicaId: wanted.replicaId });
      const runAt = new Date(now().getTime() + CLAIM_REST_MS);
      await askReconcile(db, { poolId: pool.id, hostId: sandboxes.hostId, runAt });
      const age = found.generation === generation ? 'the present' : 'an older';
      const layer = found.layer_id ? await selectLayerById(db, found.layer_id) : undefined;
      return {
        sandboxId: sandbox.id,
        workspaceId: layer?.built_by ?? found.id,
        reason: `A warm workspace of ${age} generation was ready.`,
      };
    }
  };
}

type LayerParts = { db: Db; sandboxes: Pick<SandboxService, 'hostId' | 'hasLayer'> };

/** Finds the snapshot from which a replica starts when no workspace is ready. */
export function createFindLayer({ db, sandboxes }: LayerParts) {
  return async function findLayer(wanted: { environmentId: string | null; size: string }) {
    const none = { layers: [], builtBy: null };
    if (!wanted.environmentId) return { ...none, reason: '' };
    const pool = await store.selectPoolOfEnvironment(db, wanted.environmentId);
    // What is on the disk of a snapshot may be too much for that of another size.
    if (pool && isOfAnotherSize(pool, wanted.size)) return { ...none, reason: '' };
    const layer =
      pool?.enabled &&
      (await selectLayer(db, {
        poolId: pool.id,
        generation: pool.generation,
        hostId: sandboxes.hostId,
      }));
    if (!layer || !(await sandboxes.hasLayer(layer.id))) {
      return { ...none, reason: 'There is no snapshot of the present generation.' };
    }
    return { layers: [layer.id], builtBy: layer.built_by, reason: 'The snapshot of the warm pool was used.' };
  };
}

/** A pool in which nothing was begun yet has no size. */
function isOfAnotherSize(pool: store.PoolRow, size: string): boolean {
  return pool.size !== null && pool.size !== size;
}
