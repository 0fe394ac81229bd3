import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { SandboxRow, SandboxService } from '../sandbox/service.ts';
import { buildIdOf } from './build-id.ts';
import { deleteLayer, selectObsoleteLayers } from './layer-store.ts';
import * as store from './workspace-store.ts';
import type { WarmWorkspaceService } from './workspaces.ts';

export type SweepParts = {
  db: Db;
  workspaces: WarmWorkspaceService;
  sandboxes: SandboxService;
  targetSize: number;
  /** The size of workspaces of organizations that have set none. */
  defaultSize: string;
  /** How long a workspace may stand still on its way before it is looked after. */
  stallMs: number;
  now: () => Date;
};

/** Longer than any warm build takes whose hooks keep to their limits. */
const BUILD_LIMIT_MS = 2 * 3_600_000;
const ANSWER_LIMIT_MS = 2_000;

export function createWarmPoolSweep(parts: SweepParts) {
  const { db, workspaces, sandboxes, targetSize, defaultSize, stallMs, now } = parts;
  const { hostId } = sandboxes;

  /** One look at all pools: what is missing is begun, what stands still is ended, old snapshots go. */
  async function reconcile(): Promise<void> {
    const before = new Date(now().getTime() - stallMs);
    const outcomes = [
      await each(await store.selectUnsettledPools(db, { targetSize, defaultSize, hostId }), (poolId) =>
        transact(db, (tx) => workspaces.reconcile(tx, poolId)),
      ),
      await each(await store.selectStalledWorkspaces(db, { hostId, before }), lookAfter),
      await each(await selectObsoleteLayers(db, hostId), async ({ id }) => {
        await sandboxes.removeLayer(id);
        await deleteLayer(db, id);
      }),
    ];
    const [failure] = outcomes.flat();
    if (failure) throw failure;
  }

  async function lookAfter(stalled: store.WorkspaceRow): Promise<void> {
    if (await isBuilding(stalled)) await store.noteProgress(db, stalled.id, now());
    else await fail(stalled.id, 'The workspace made no progress.');
  }

  /** A clone or a hook may be silent for long: as long as the engine says that it builds, it does. */
  async function isBuilding(workspace: store.WorkspaceRow): Promise<boolean> {
    if (workspace.status !== 'warming' || !workspace.sandbox_id) return false;
    if (now().getTime() - workspace.created_at.getTime() > BUILD_LIMIT_MS) return false;
    const sandbox = await sandboxes.find(db, workspace.sandbox_id);
    if (!sandbox) return false;
    const info = await sandboxes.inspect(sandbox, AbortSignal.timeout(ANSWER_LIMIT_MS)).catch(() => null);
    return info?.boot?.id === buildIdOf(workspace) && info.boot.state === 'running';
  }

  /** A sandbox of the pool that should run has stopped. */
  async function onStopped(sandbox: SandboxRow): Promise<void> {
    const workspace =
      sandbox.warm_workspace_id && (await store.selectWorkspace(db, sandbox.warm_workspace_id));
    // A workspace that is being snapshotted was stopped on purpose.
    if (!workspace || workspace.sandbox_id !== sandbox.id || workspace.status === 'snapshotting') return;
    await fail(workspace.id, 'The sandbox stopped by itself.');
  }

  function fail(id: string, message: string): Promise<void> {
    return transact(db, (tx) => workspaces.end(tx, id, { status: 'failed', message }));
  }

  return { reconcile, onStopped };
}

/** One that gives trouble does not keep the others waiting; what went wrong is given back. */
async function each<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<unknown[]> {
  const failures: unknown[] = [];
  for (const item of items) await act(item).catch((error: unknown) => failures.push(error));
  return failures;
}
