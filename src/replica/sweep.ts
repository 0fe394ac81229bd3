import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { SandboxRow, SandboxService } from '../sandbox/service.ts';
import { selectDeleteDue, selectSleepDue, selectStalled, selectStranded } from './due-store.ts';
import { workOwed } from './lifecycle.ts';
import type { ReplicaRow, ReplicaService } from './service.ts';

type Parts = {
  db: Db;
  replicas: ReplicaService;
  sandboxes: Pick<SandboxService, 'find' | 'inspect' | 'hostId' | 'isHostGone' | 'forget'>;
  /** How long work that is owed may stand still before it is begun anew. */
  stallMs: number;
  log: Logger;
  now: () => Date;
};

/** So many losses of a running sandbox one after the other are taken for the workspace's own fault. */
const MAX_LOSSES = 5;
const MAX_STALLS = 4;
const ANSWER_LIMIT_MS = 2_000;
/** A host says that it is there every few seconds. */
const HOST_SILENCE_SECONDS = 60;
/** An active replica is taken over later: its host may only be restarted, and its disk is better than a copy. */
const STRANDED_SECONDS = 600;
/** Longer than any boot takes whose hooks keep to their limits. */
const BOOT_LIMIT_MS = 2 * 3_600_000;
/** A sandbox that ran this long before it was lost begins a new count. */
const LOSS_MEMORY_MS = 10 * 60_000;

/** What time brings: policies that act, work that stands still, sandboxes that stopped by themselves. */
export function createReplicaSweep({ db, replicas, sandboxes, stallMs, log, now }: Parts) {
  const { hostId } = sandboxes;

  async function applyPolicies(): Promise<void> {
    await each(await selectSleepDue(db, now()), async (tx, row) => {
      if (row.state === 'active' && isPast(row.sleep_due_at)) await replicas.request(tx, row, 'sleep');
    });
    await each(await selectDeleteDue(db, now()), async (tx, row) => {
      if (isPast(row.delete_due_at)) await replicas.request(tx, row, 'delete');
    });
  }

  /** Nothing stays on its way for ever: what stands still is begun anew, and in the end given up. */
  async function unstick(): Promise<void> {
    const before = new Date(now().getTime() - stallMs);
    const stalled = await selectStalled(db, before);
    const booting = new Set<string>();
    for (const { id, host_id } of stalled) if (host_id === hostId && (await isBooting(id))) booting.add(id);
    await each(stalled, async (tx, row) => {
      if (row.progress_at >= before || workOwed[row.state] === null) return;
      // Another host knows more of its replicas than this one, as long as it is there.
      if (row.host_id !== hostId) {
        if (await sandboxes.isHostGone(tx, row.host_id, HOST_SILENCE_SECONDS)) await takeOver(tx, row);
        return;
      }
      if (booting.has(row.id)) return replicas.noteProgress(tx, row.id);
      if (workOwed[row.state] !== 'start') {
        await replicas.update(tx, row, { progress_at: now() });
        return replicas.owe(tx, row);
      }
      if (row.attempts + 1 >= MAX_STALLS) {
        const sentence = `The workspace made no progress for ${Math.round(stallMs / 1000)} seconds, ${MAX_STALLS} times in a row.`;
        await replicas.report(tx, row, 'failed', { error_message: sentence });
        return;
      }
      await replicas.report(tx, row, 'lost', { attempts: row.attempts + 1 });
    });
    const stranded = await selectStranded(db, { hostId, silentSeconds: STRANDED_SECONDS });
    await each(stranded, async (tx, row) => {
      if (row.state === 'active' && row.host_id !== hostId) await takeOver(tx, row);
    });
  }

  /** Acts in the place of a host that is gone. Its disk is out of reach, so a start builds the workspace anew. */
  async function takeOver(tx: Db, row: ReplicaRow): Promise<void> {
    if (row.sandbox_id) await sandboxes.forget(tx, row.sandbox_id);
    await replicas.rehome(tx, row);
  }

  /** A hook may be silent for long: as long as the engine says that it boots, it does. */
  async function isBooting(id: string): Promise<boolean> {
    const row = await replicas.read(db, id);
    if (!row?.sandbox_id || workOwed[row.state] !== 'start') return false;
    if (now().getTime() - row.updated_at.getTime() > BOOT_LIMIT_MS) return false;
    const sandbox = await sandboxes.find(db, row.sandbox_id);
    if (!sandbox) return false;
    const info = await sandboxes.inspect(sandbox, AbortSignal.timeout(ANSWER_LIMIT_MS)).catch(() => null);
    return info?.boot?.id === row.boot_id && info.boot.state === 'running';
  }

  /** A sandbox that should run has stopped. */
  async function onStopped(sandbox: SandboxRow): Promise<void> {
    if (!sandbox.replica_id) return;
    await whileHeld(sandbox.replica_id, async (tx, row) => {
      const present = await sandboxes.find(tx, sandbox.id);
      if (present?.incarnation !== sandbox.incarnation || !present.started_at) return;
      const isItsOwn = row.sandbox_id === sandbox.id && row.started_boot_id === row.boot_id;
      if (!isItsOwn || !['preparing', 'active', 'waking'].includes(row.state)) return;
      const isLongAgo = row.active_since && now().getTime() - row.active_since.getTime() > LOSS_MEMORY_MS;
      const losses = isLongAgo ? 1 : row.losses + 1;
      if (losses > MAX_LOSSES) {
        const sentence = `The sandbox stopped by itself ${losses} times in a short while; it may need more memory than its size has.`;
        await replicas.report(tx, row, 'failed', { error_message: sentence, losses: 0 });
        return;
      }
      await replicas.report(tx, row, 'lost', { losses });
    });
  }

  /** One that gives trouble does not keep the others waiting. */
  async function each(
    due: readonly { id: string }[],
    act: (tx: Db, row: ReplicaRow) => Promise<void>,
  ): Promise<void> {
    for (const { id } of due) {
      await whileHeld(id, act).catch((error: unknown) =>
        log.warn({ replicaId: id, err: error }, 'replica.sweep_failed'),
      );
    }
  }

  function whileHeld(id: string, act: (tx: Db, row: ReplicaRow) => Promise<void>): Promise<void> {
    return transact(db, async (tx) => {
      const row = await replicas.lock(tx, id);
      if (row) await act(tx, row);
    });
  }

  const isPast = (at: Date | null) => at !== null && at <= now();

  return { applyPolicies, unstick, onStopped };
}
