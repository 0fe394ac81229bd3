/*
 * Locks are taken in this order: environment, pool, workspace, sandbox. An engine's report is taken while its sandbox is
 * held, so taking it waits for nothing that comes before: what it moves is moved by a job.
 */
import type { Db } from '../db/database.ts';
import { afterCommit } from '../db/transact.ts';
import type { EngineEvent } from '../engine/protocol.ts';
import type { HookRunService } from '../hook-run/service.ts';
import { hostTask } from '../sandbox/host.ts';
import type { SandboxRow, SandboxService } from '../sandbox/service.ts';
import { enqueue } from '../work/enqueue.ts';
import { type LayerRow, selectLayer } from './layer-store.ts';
import { planPool, retryDelayMs } from './plan.ts';
import * as store from './workspace-store.ts';

type Parts = {
  sandboxes: SandboxService;
  hookRuns: Pick<HookRunService, 'report'>;
  signals: { touch(topic: string): void };
  targetSize: number;
  /** The size of an organization's workspaces. */
  tierOf: (db: Db, organizationId: string) => Promise<string>;
  newId: () => string;
  now: () => Date;
};

type SizedPool = store.PoolRow & { size: string };

export type { WorkspaceRow } from './workspace-store.ts';
export type WarmWorkspaceService = ReturnType<typeof createWarmWorkspaceService>;
/** How a warm build ended, by its engine: with the sentence why it failed, if it did. */
export type BuildEnd = { failure: string | null };

export const WORKSPACE_TASK = 'warm_pool.work';
export const RECONCILE_TASK = 'warm_pool.reconcile';
/** The topic under which processes tell each other that a warm workspace has news. */
export const workspaceTopic = (id: string) => `warm-workspace:${id}`;

/** Workspaces of a pool that have ended and can still be looked at. */
const KEPT_ENDED = 20;

/** Moves warm workspaces through their states; the worker beside it does what the states ask for. */
export function createWarmWorkspaceService(parts: Parts) {
  const { sandboxes, hookRuns, signals, targetSize, tierOf, newId, now } = parts;
  const { hostId } = sandboxes;

  /** Brings one pool closer to what it shall be. */
  async function reconcile(db: Db, poolId: string): Promise<void> {
    const held = await store.lockPool(db, poolId);
    if (!held) return;
    const pool = await fitToTier(db, held);
    for (const lost of await store.selectLostWorkspaces(db, { poolId, hostId })) await forget(db, lost.id);
    const workspaces = await store.selectOpenWorkspaces(db, { poolId, hostId });
    const layer = await selectLayer(db, { poolId, generation: pool.generation, hostId });
    const actions = planPool(
      {
        isEnabled: pool.enabled,
        generation: pool.generation,
        targetSize,
        nextRetryAt: pool.next_retry_at,
        claimedAt: await store.selectLastClaim(db, poolId),
        hasLayer: layer !== undefined,
        // The check constraint of the column allows nothing else here.
        workspaces: workspaces.map((row) => ({ ...row, status: row.status as 'ready' })),
      },
      now(),
    );
    for (const action of actions) {
      if (action.kind === 'expire') await end(db, action.id, { status: 'expired', message: action.reason });
      else await begin(db, pool, action.kind === 'fill' ? (layer ?? null) : null);
    }
    await store.trimWorkspaces(db, pool, KEPT_ENDED);
  }

  /** Workspaces of one generation have one size, so another tier begins another generation. The pool is held. */
  async function fitToTier(db: Db, pool: store.PoolRow): Promise<SizedPool> {
    const size = await tierOf(db, pool.organization_id);
    if (pool.size === size) return { ...pool, size };
    const generation = pool.generation + (pool.size === null ? 0 : 1);
    await store.updatePool(db, pool.id, { size, generation, updated_at: now() });
    return { ...pool, size, generation };
  }

  async function begin(db: Db, pool: SizedPool, layer: LayerRow | null): Promise<void> {
    const at = now();
    const workspace = await store.insertWorkspace(db, {
      id: newId(),
      organization_id: pool.organization_id,
      warm_pool_id: pool.id,
      status: 'warming',
      generation: pool.generation,
      layer_id: layer?.id ?? null,
      host_id: hostId,
      progress_at: at,
      created_at: at,
      updated_at: at,
    });
    await place(db, workspace, {
      environmentId: pool.environment_id,
      size: pool.size,
      layers: layer ? [layer.id] : [],
    });
    await owe(db, workspace);
  }

  /** Gives a workspace a sandbox of its own. */
  async function place(
    db: Db,
    workspace: store.WorkspaceRow,
    like: { environmentId: string | null; size: string; layers: string[] },
  ): Promise<SandboxRow> {
    const sandbox = await sandboxes.make(db, {
      organizationId: workspace.organization_id,
      purpose: 'warm_pool',
      warmWorkspaceId: workspace.id,
      ...like,
    });
    await store.updateWorkspace(db, workspace.id, { sandbox_id: sandbox.id });
    return sandbox;
  }

  async function owe(db: Db, workspace: store.WorkspaceRow, built?: BuildEnd): Promise<void> {
    await enqueue(db, {
      name: hostTask(WORKSPACE_TASK, workspace.host_id ?? hostId),
      payload: { workspace_id: workspace.id, ...(built && { built }) },
      key: `${WORKSPACE_TASK}:${workspace.id}`,
      queue: `${WORKSPACE_TASK}:${workspace.id}`,
    });
  }

  /** Ends a workspace that nobody has claimed. A failure holds the pool back for a while. */
  async function end(
    db: Db,
    id: string,
    ended: { status: 'expired' | 'failed'; message: string },
  ): Promise<void> {
    const { pool, workspace } = await hold(db, id);
    if (!pool || !workspace || !store.isOpen(workspace)) return;
    const at = now();
    await change(db, workspace, { status: ended.status, error_message: ended.message });
    if (workspace.sandbox_id) await sandboxes.release(db, workspace.sandbox_id);
    if (ended.status === 'expired') return;
    const errors = pool.error_count + 1;
    await store.updatePool(db, pool.id, {
      error_count: errors,
      next_retry_at: new Date(at.getTime() + retryDelayMs(errors)),
      last_error_at: at,
      last_error_message: ended.message,
      last_failure_at: at,
      last_failure_reason: `${workspace.status} failed`,
      updated_at: at,
    });
  }

  /** Ends a workspace on a host that is gone, of which only the rows are left. */
  async function forget(db: Db, id: string): Promise<void> {
    const { workspace } = await hold(db, id);
    if (!workspace || !store.isOpen(workspace)) return;
    await change(db, workspace, { status: 'expired', error_message: 'The machine it was on is gone.' });
    if (workspace.sandbox_id) await sandboxes.forget(db, workspace.sandbox_id);
  }

  /** The disk of a workspace is warm and is to become a snapshot. */
  async function beginSnapshot(db: Db, id: string): Promise<store.WorkspaceRow | null> {
    const workspace = await store.lockWorkspace(db, id);
    if (workspace?.status !== 'warming') return null;
    await change(db, workspace, { status: 'snapshotting' });
    return { ...workspace, status: 'snapshotting' };
  }

  async function becomeReady(db: Db, id: string): Promise<void> {
    const { pool, workspace } = await hold(db, id);
    if (!pool || !workspace || !['warming', 'snapshotting'].includes(workspace.status)) return;
    await change(db, workspace, { status: 'ready', error_message: null });
    await store.updatePool(db, pool.id, { error_count: 0, next_retry_at: null });
    await askReconcile(db, { poolId: pool.id, hostId });
  }

  /** A workspace as it is from now on, held together with its pool. */
  async function hold(
    db: Db,
    id: string,
  ): Promise<{ pool?: store.PoolRow | undefined; workspace?: store.WorkspaceRow | undefined }> {
    const found = await store.selectWorkspace(db, id);
    if (!found) return {};
    const pool = await store.lockPool(db, found.warm_pool_id);
    return { pool, workspace: await store.lockWorkspace(db, id) };
  }

  async function change(
    db: Db,
    workspace: store.WorkspaceRow,
    changed: Parameters<typeof store.updateWorkspace>[2],
  ): Promise<void> {
    const at = now();
    await store.updateWorkspace(db, workspace.id, { ...changed, updated_at: at, progress_at: at });
    afterCommit(db, () => signals.touch(workspaceTopic(workspace.id)));
  }

  /** Takes what the engine of a warm workspace says. */
  async function take(db: Db, sandbox: SandboxRow, events: readonly EngineEvent[]): Promise<void> {
    if (!sandbox.warm_workspace_id) return;
    const workspace = await store.selectWorkspace(db, sandbox.warm_workspace_id);
    if (workspace?.status !== 'warming' || workspace.sandbox_id !== sandbox.id) return;
    for (const event of events) {
      if (event.type === 'hook.started' || event.type === 'hook.output' || event.type === 'hook.finished') {
        await hookRuns.report(db, sandbox.id, event);
      } else if (event.type === 'boot.finished') {
        await owe(db, workspace, { failure: null });
      } else if (event.type === 'boot.failed') {
        await owe(db, workspace, { failure: event.payload.message });
      }
    }
    await store.noteProgress(db, workspace.id, now());
    afterCommit(db, () => signals.touch(workspaceTopic(workspace.id)));
  }

  return { reconcile, place, end, beginSnapshot, becomeReady, take };
}

/** Has a pool looked at soon; the periodic look would come to it later. */
export async function askReconcile(
  db: Db,
  { poolId, hostId, runAt }: { poolId: string; hostId: string; runAt?: Date },
): Promise<void> {
  await enqueue(db, {
    name: hostTask(RECONCILE_TASK, hostId),
    payload: { pool_id: poolId },
    key: `${RECONCILE_TASK}:${poolId}`,
    ...(runAt && { runAt }),
    maxAttempts: 1,
  });
}
