import { v5 } from 'uuid';
import { z } from 'zod';
import { transact } from '../db/transact.ts';
import type { HookRunService } from '../hook-run/service.ts';
import { sentenceFor, UserSentenceError } from '../lib/user-sentence.ts';
import { SandboxLostError } from '../runtime/driver.ts';
import { hostTask } from '../sandbox/host.ts';
import type { SandboxRow } from '../sandbox/service.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import type { WorkspacePlan } from '../workspace-plan/plan.ts';
import { toBootPlan } from '../workspace-plan/to-boot-plan.ts';
import { buildIdOf } from './build-id.ts';
import { deleteLayer, insertLayer, markLayerReady } from './layer-store.ts';
import { createWarmPoolSweep, type SweepParts } from './sweep.ts';
import * as store from './workspace-store.ts';
import { type BuildEnd, RECONCILE_TASK, WORKSPACE_TASK } from './workspaces.ts';

type Parts = SweepParts & {
  hookRuns: Pick<HookRunService, 'plan'>;
  compose: (wanted: {
    organizationId: string;
    environmentId: string | null;
    hooks: readonly 'warm'[];
    signal: AbortSignal;
  }) => Promise<WorkspacePlan>;
};

/** Does what a warm workspace's status asks for. Each step can be done again after a crash. */
export function createWarmPoolWorker(parts: Parts) {
  const { db, workspaces, sandboxes, hookRuns, now } = parts;

  async function work(
    { id, built }: { id: string; built: BuildEnd | null },
    { signal, log }: TaskContext,
  ): Promise<void> {
    const workspace = await store.selectWorkspace(db, id);
    if (!workspace) return;
    try {
      if (workspace.status === 'snapshotting') await snapshot(workspace, signal);
      else if (workspace.status !== 'warming') return;
      else if (built) await finish(workspace, built, signal);
      else await warm(workspace, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      log.warn({ workspaceId: id, status: workspace.status, err: error }, 'warm_pool.work_failed');
      await fail(
        id,
        sentenceFor(error, 'The workspace could not be prepared; the log of the service says why.'),
      );
    }
  }

  function fail(id: string, message: string): Promise<void> {
    return transact(db, (tx) => workspaces.end(tx, id, { status: 'failed', message }));
  }

  /** From nothing: the engine gets the plan of a warm build. From a snapshot: an idle engine is all there is to do. */
  async function warm(workspace: store.WorkspaceRow, signal: AbortSignal): Promise<void> {
    const sandbox = await requireSandbox(workspace);
    if (workspace.layer_id) {
      await startFrom(workspace.layer_id, sandbox, signal);
      await transact(db, (tx) => workspaces.becomeReady(tx, workspace.id));
      return;
    }
    await sandboxes.start(db, sandbox, signal);
    const plan = await parts.compose({
      organizationId: workspace.organization_id,
      environmentId: sandbox.environment_id,
      hooks: ['warm'],
      signal,
    });
    const id = buildIdOf(workspace);
    const owner = {
      organizationId: workspace.organization_id,
      sandboxId: sandbox.id,
      warmWorkspaceId: workspace.id,
    };
    const hooks = await hookRuns.plan(db, owner, { id, hooks: plan.hooks });
    // Secrets come with the claim; a hook has the variables in its environment, which is not on the disk.
    const withoutSecrets = { ...plan, files: [], mcpServers: {} };
    const body = toBootPlan(withoutSecrets, { id, hooks, failOn: 'warm_hook', restore: false });
    const { status } = await sandboxes.send(sandbox, { method: 'PUT', path: '/boot', body }, signal);
    if (status !== 202) throw new Error(`the engine answered ${status} to its boot`);
  }

  /** A snapshot that turns out to be gone is not tried again: the next workspace is built from nothing. */
  async function startFrom(layerId: string, sandbox: SandboxRow, signal: AbortSignal): Promise<void> {
    try {
      await sandboxes.start(db, sandbox, signal);
    } catch (error) {
      const isGone = error instanceof SandboxLostError && !(await sandboxes.hasLayer(layerId));
      if (isGone) await deleteLayer(db, layerId);
      throw error;
    }
  }

  async function finish(
    workspace: store.WorkspaceRow,
    { failure }: BuildEnd,
    signal: AbortSignal,
  ): Promise<void> {
    if (failure !== null) return fail(workspace.id, failure);
    const built = await transact(db, (tx) => workspaces.beginSnapshot(tx, workspace.id));
    if (built) await snapshot(built, signal);
  }

  /** The disk becomes the snapshot of the generation, and the workspace goes on from it with an idle engine. */
  async function snapshot(workspace: store.WorkspaceRow, signal: AbortSignal): Promise<void> {
    const layerId = v5('layer', workspace.id);
    const sandbox = await requireSandbox(workspace);
    const next = sandbox.layers.includes(layerId)
      ? sandbox
      : await turnIntoLayer(workspace, sandbox, layerId);
    if (!next) return;
    await sandboxes.start(db, next, signal);
    await transact(db, (tx) => workspaces.becomeReady(tx, workspace.id));
  }

  /** The sandbox that stands on the new layer; null when the workspace was ended meanwhile. */
  async function turnIntoLayer(
    workspace: store.WorkspaceRow,
    sandbox: SandboxRow,
    layerId: string,
  ): Promise<SandboxRow | null> {
    await insertLayer(db, {
      id: layerId,
      organization_id: workspace.organization_id,
      warm_pool_id: workspace.warm_pool_id,
      generation: workspace.generation,
      host_id: sandboxes.hostId,
      built_by: workspace.id,
      created_at: now(),
    });
    if (!(await sandboxes.hasLayer(layerId))) {
      await sandboxes.suspend(db, sandbox.id);
      await sandboxes.snapshot(sandbox.id, layerId);
    }
    return transact(db, async (tx) => {
      const held = await store.lockWorkspace(tx, workspace.id);
      if (held?.status !== 'snapshotting') return null;
      await markLayerReady(tx, layerId);
      await store.updateWorkspace(tx, held.id, { layer_id: layerId });
      const placed = await workspaces.place(tx, held, {
        environmentId: sandbox.environment_id,
        size: sandbox.size,
        layers: [layerId],
      });
      await sandboxes.release(tx, sandbox.id);
      return placed;
    });
  }

  async function requireSandbox(workspace: store.WorkspaceRow): Promise<SandboxRow> {
    const sandbox = workspace.sandbox_id && (await sandboxes.find(db, workspace.sandbox_id));
    if (!sandbox) throw new UserSentenceError('The sandbox of the workspace is gone.');
    return sandbox;
  }

  const tasks: Tasks = [
    defineTask({
      name: hostTask(WORKSPACE_TASK, sandboxes.hostId),
      payload: z.object({
        workspace_id: z.guid(),
        built: z.object({ failure: z.string().nullable() }).nullable().default(null),
      }),
      run: ({ workspace_id: id, built }, context) => work({ id, built }, context),
    }),
    defineTask({
      name: hostTask(RECONCILE_TASK, sandboxes.hostId),
      payload: z.object({ pool_id: z.guid() }),
      run: ({ pool_id }) => transact(db, (tx) => workspaces.reconcile(tx, pool_id)),
    }),
  ];
  return { tasks, ...createWarmPoolSweep(parts) };
}
