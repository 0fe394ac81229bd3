import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { HookRunService } from '../hook-run/service.ts';
import { SandboxLostError } from '../runtime/driver.ts';
import type { SandboxRow, SandboxService } from '../sandbox/service.ts';
import { folderNames } from '../workspace-plan/folder-name.ts';
import type { PlannedRepository, WorkspacePlan } from '../workspace-plan/plan.ts';
import { toBootPlan } from '../workspace-plan/to-boot-plan.ts';
import type { ReplicaRow, ReplicaService } from './service.ts';
import type { StepRecorder } from './steps.ts';

type Layer = { layers: string[]; builtBy: string | null; reason: string };
type Parts = {
  db: Db;
  replicas: ReplicaService;
  sandboxes: SandboxService;
  hookRuns: Pick<HookRunService, 'plan'>;
  chats: { failRunning(db: Db, row: ReplicaRow, sentence: string): Promise<void> };
  compose: (wanted: {
    organizationId: string;
    environmentId: string | null;
    hooks: readonly ('warm' | 'start')[];
    signal: AbortSignal;
  }) => Promise<WorkspacePlan>;
  /** The snapshot a replica without a warm workspace can start from. */
  findLayer: (wanted: { environmentId: string | null; size: string }) => Promise<Layer>;
  /** The size of a replica whose creator named none. */
  tierOf: (db: Db, organizationId: string) => Promise<string>;
  recordSteps: (row: ReplicaRow) => StepRecorder;
};

const DISK_LOST =
  'The disk of the workspace was lost while the agent was working on this message; the workspace was rebuilt.';

/**
 * Brings a replica's sandbox up and tells its engine what the workspace shall be like. The engine's own reports say how
 * that went; nothing here waits for it. Every step can be done again after a crash.
 */
export function createReplicaStart(parts: Parts) {
  const { db, replicas, sandboxes, hookRuns, chats, tierOf } = parts;

  return async function start(row: ReplicaRow, signal: AbortSignal): Promise<void> {
    const steps = parts.recordSteps(row);
    const composing = parts.compose({
      organizationId: row.organization_id,
      environmentId: row.environment_id,
      hooks: ['warm', 'start'],
      signal,
    });
    // Whoever awaits it below sees its failure; a failure before that must not end the process.
    composing.catch(() => {});
    const sandbox = await steps.measure('sandbox', () => bringUp(row, signal));
    const plan = await composing;
    const placed = await replicas.read(db, row.id);
    if (placed?.version !== row.version) return;
    const isFresh = !placed.has_booted;
    const isBare = isFresh && (placed.start_kind === 'cold' || placed.start_kind === 'rebuilt');
    const hooks = plan.hooks.filter((hook) => hook.phase === 'start' || isBare);
    const restore = isFresh && placed.start_kind === 'rebuilt';
    const bootId = placed.boot_id;
    if (!bootId) throw new Error('a replica that starts has no boot');
    const owner = { organizationId: row.organization_id, sandboxId: sandbox.id, replicaId: row.id };
    const bootHooks = await hookRuns.plan(db, owner, { id: bootId, hooks });
    if (plan.problems.length > 0) steps.note('plan', 'done', plan.problems.join(' '));
    const repositories = await checkedOut(row);
    await steps.measure('boot request', async () => {
      const variables = { REPLICA_ID: row.id, ...plan.variables };
      const planned = { ...plan, variables, repositories };
      const body = toBootPlan(planned, { id: bootId, hooks: bootHooks, failOn: 'nothing', restore });
      const { status } = await sandboxes.send(sandbox, { method: 'PUT', path: '/boot', body }, signal);
      if (status !== 202) throw new Error(`the engine answered ${status} to its boot`);
    });
    await steps.write();
  };

  /** What the replica was made with: its environment may be bound to something else by now. */
  async function checkedOut(row: ReplicaRow): Promise<PlannedRepository[]> {
    const rows = await replicas.repositoriesOf(db, [row.id]);
    const folders = folderNames(rows.map(({ name }) => name));
    return rows.map(({ repository_id: id, name, url, default_branch: branch }, index) => ({
      id,
      name: folders[index] ?? name,
      url,
      branch,
    }));
  }

  async function bringUp(row: ReplicaRow, signal: AbortSignal): Promise<SandboxRow> {
    const found = row.sandbox_id ? await sandboxes.find(db, row.sandbox_id) : undefined;
    const sandbox =
      found && !found.removing_at
        ? await ensureIncarnation(row, found)
        : await place(row, { mayUseLayer: true });
    try {
      await sandboxes.start(db, sandbox, signal);
      return sandbox;
    } catch (error) {
      if (!(error instanceof SandboxLostError)) throw error;
      // The disk is gone, or the snapshot it was to start from.
      const instead = await place(row, { mayUseLayer: false });
      await sandboxes.start(db, instead, signal);
      return instead;
    }
  }

  /** A sandbox for a replica that never had a disk of its own, or in place of one that is lost. */
  function place(row: ReplicaRow, options: { mayUseLayer: boolean }): Promise<SandboxRow> {
    const hadWork = row.has_booted || row.start_kind === 'rebuilt' || row.state === 'waking';
    return hadWork ? placeAnew(row) : placeCold(row, options);
  }

  /** A start that is not the sandbox's first is a new incarnation of it, counted once for each boot. */
  async function ensureIncarnation(row: ReplicaRow, found: SandboxRow): Promise<SandboxRow> {
    if (row.started_boot_id === row.boot_id) return found;
    return transact(db, async (tx) => {
      const sandbox = await sandboxes.lock(tx, found.id);
      const held = await replicas.lock(tx, row.id);
      if (!sandbox || held?.version !== row.version) throw new Error('the replica has moved on');
      await replicas.update(tx, held, {
        started_boot_id: row.boot_id,
        // A disk that never became what it shall be is still to be prepared like a new one.
        ...(held.has_booted && { start_kind: 'resumed', start_reason: null }),
      });
      return sandboxes.nextIncarnation(tx, sandbox.id);
    });
  }

  /** A sandbox for a replica that never had one, from a snapshot when its environment has one. */
  async function placeCold(row: ReplicaRow, options: { mayUseLayer: boolean }): Promise<SandboxRow> {
    const environmentId = options.mayUseLayer ? row.environment_id : null;
    const size = await sizeOf(db, row);
    const layer = await parts.findLayer({ environmentId, size });
    return transact(db, async (tx) => {
      const held = await requireHeld(tx, row);
      if (held.sandbox_id) await sandboxes.release(tx, held.sandbox_id);
      const sandbox = await make(tx, row, { size, layers: layer.layers });
      await replicas.update(tx, held, {
        sandbox_id: sandbox.id,
        started_boot_id: row.boot_id,
        has_booted: false,
        start_kind: layer.layers.length > 0 ? 'layer' : 'cold',
        start_reason: [row.start_reason, layer.reason].filter(Boolean).join(' '),
        warm_workspace_id: layer.builtBy,
      });
      return sandbox;
    });
  }

  /** A sandbox in place of one whose disk is gone. */
  function placeAnew(row: ReplicaRow): Promise<SandboxRow> {
    return transact(db, async (tx) => {
      const held = await requireHeld(tx, row);
      if (held.sandbox_id) await sandboxes.release(tx, held.sandbox_id);
      const sandbox = await make(tx, row, { size: await sizeOf(tx, row), layers: [] });
      await chats.failRunning(tx, held, DISK_LOST);
      await replicas.update(tx, held, {
        sandbox_id: sandbox.id,
        started_boot_id: row.boot_id,
        has_booted: false,
        start_kind: 'rebuilt',
        start_reason: 'The disk was lost; repositories were restored from the copy that is kept outside.',
      });
      return sandbox;
    });
  }

  async function requireHeld(tx: Db, row: ReplicaRow): Promise<ReplicaRow> {
    const held = await replicas.lock(tx, row.id);
    if (held?.version !== row.version) throw new Error('the replica has moved on');
    return held;
  }

  async function sizeOf(tx: Db, row: ReplicaRow): Promise<string> {
    return row.size ?? (await tierOf(tx, row.organization_id));
  }

  function make(tx: Db, row: ReplicaRow, like: { size: string; layers: string[] }): Promise<SandboxRow> {
    return sandboxes.make(tx, {
      organizationId: row.organization_id,
      environmentId: row.environment_id,
      purpose: 'replica',
      replicaId: row.id,
      ...like,
    });
  }
}
