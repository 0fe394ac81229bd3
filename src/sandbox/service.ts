import { createHash, randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Db } from '../db/database.ts';
import { engineVariables } from '../engine/place.ts';
import { type EngineInfo, engineInfo } from '../engine/protocol.ts';
import { protocolVersions } from '../engine/version.ts';
import type { Driver, SandboxLimits, SandboxSpec } from '../runtime/driver.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import { enqueue } from '../work/enqueue.ts';
import {
  callEngine,
  type EngineAnswer,
  type EngineCommand,
  EngineUnreachableError,
} from './engine-client.ts';
import { hostTask } from './host.ts';
import { createLanes } from './lanes.ts';
import * as store from './store.ts';
import { isHostSilent } from './watch-store.ts';

export type { SandboxRow } from './store.ts';

type Parts = {
  driver: Driver;
  hostId: string;
  sealer: Sealer;
  limitsOf: (size: string) => SandboxLimits;
  /** Variables that every engine starts with. */
  engineEnvironment: Readonly<Record<string, string>>;
  newId: () => string;
  now: () => Date;
};
type Wanted = {
  organizationId: string;
  environmentId: string | null;
  purpose: 'replica' | 'warm_pool' | 'hook_test';
  replicaId?: string;
  warmWorkspaceId?: string;
  hookTestId?: string;
  size: string;
  layers: readonly string[];
};

/** Whose request the gateway has before it. */
export type SandboxIdentity = {
  sandboxId: string;
  organizationId: string;
  environmentId: string | null;
  replicaId: string | null;
  incarnation: number;
};
export type SandboxService = ReturnType<typeof createSandboxService>;

export const REMOVE_TASK = 'sandbox.remove';

/** How long an engine may take from its start to its first answer. */
const START_LIMIT_MS = 30_000;
const COMMAND_LIMIT_MS = 30_000;

export function createSandboxService(parts: Parts) {
  const { driver, hostId, sealer, limitsOf, engineEnvironment, newId, now } = parts;
  const inLane = createLanes();

  /** Notes that a sandbox is wanted; the driver makes it when it is started. */
  function make(db: Db, wanted: Wanted): Promise<store.SandboxRow> {
    const id = newId();
    const secret = `rs_engine_${randomBytes(32).toString('base64url')}`;
    return store.insertSandbox(db, {
      id,
      organization_id: wanted.organizationId,
      environment_id: wanted.environmentId,
      purpose: wanted.purpose,
      replica_id: wanted.replicaId ?? null,
      warm_workspace_id: wanted.warmWorkspaceId ?? null,
      hook_test_id: wanted.hookTestId ?? null,
      host_id: hostId,
      secret: sealer.seal(secret, sealedContext('sandbox', 'secret', id)),
      secret_hash: hashSecret(secret),
      size: wanted.size,
      layers: [...wanted.layers],
      created_at: now(),
    });
  }

  /** Makes the present incarnation run and its engine answer. Done again, it completes what is missing. */
  async function start(db: Db, { id }: { id: string }, signal: AbortSignal): Promise<void> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS * 2)]);
    return inLane(id, async () => {
      bounded.throwIfAborted();
      // It may have been let go while others were at work on it.
      const row = await store.selectSandbox(db, id);
      if (!row || row.removing_at) throw new EngineUnreachableError('The sandbox was let go.');
      // One that was started has answered; should it be gone, the next command to it says so.
      if (row.started_at !== null) return;
      if (row.incarnation === 1) {
        await driver.create(row.id, specOf(row), bounded);
      } else {
        await endOlder(row, bounded);
        await driver.resume(row.id, specOf(row), bounded);
      }
      await waitForEngine(row, bounded);
      await store.markStarted(db, { id: row.id, incarnation: row.incarnation, at: now() });
    });
  }

  /** Ends every process of a sandbox and keeps its disk. */
  async function suspend(db: Db, id: string): Promise<void> {
    await inLane(id, async () => {
      await driver.suspend(id);
      await store.markStopped(db, id);
    });
  }

  /** Ends a sandbox whose engine hangs. It is not marked as stopped, so that it counts as one that stopped by itself. */
  async function endSilent(db: Db, { id, incarnation }: { id: string; incarnation: number }): Promise<void> {
    await inLane(id, async () => {
      // It may have been stopped, started anew or let go meanwhile.
      const row = await store.selectSandbox(db, id);
      if (row?.incarnation !== incarnation || !row.started_at || row.removing_at) return;
      await driver.suspend(id);
    });
  }

  /** A sandbox that was given up for lost may still run: two incarnations never run at once. */
  async function endOlder(row: store.SandboxRow, signal: AbortSignal): Promise<void> {
    if ((await driver.observe(row.id)) !== 'running') return;
    const info = await inspect(row, signal).catch(() => null);
    if (info?.incarnation !== row.incarnation) await driver.suspend(row.id);
  }

  async function waitForEngine(row: store.SandboxRow, signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(START_LIMIT_MS)]);
    for (let waitMs = 2; ; waitMs = Math.min(waitMs * 1.5, 100)) {
      try {
        await inspect(row, limit);
        return;
      } catch (error) {
        if (!(error instanceof EngineUnreachableError) || limit.aborted) throw error;
        if ((await driver.observe(row.id)) !== 'running') {
          throw new EngineUnreachableError('The sandbox ended before its engine answered.', { cause: error });
        }
        await delay(waitMs, undefined, { signal: limit });
      }
    }
  }

  async function inspect(row: store.SandboxRow, signal: AbortSignal): Promise<EngineInfo> {
    const { body } = await send(row, { method: 'GET', path: '/' }, signal);
    const info = engineInfo.safeParse(body);
    if (!info.success) throw new EngineUnreachableError('The engine does not answer like an engine.');
    const { oldest, newest } = info.data.protocol;
    if (oldest > protocolVersions.newest || newest < protocolVersions.oldest) {
      throw new Error(
        `The engine speaks versions ${oldest} to ${newest} of the protocol and this service ${protocolVersions.oldest} to ${protocolVersions.newest}.`,
      );
    }
    return info.data;
  }

  function send(row: store.SandboxRow, command: EngineCommand, signal: AbortSignal): Promise<EngineAnswer> {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(COMMAND_LIMIT_MS)]);
    const connect = () => driver.connect(row.id, 'engine', bounded);
    return callEngine({ ...command, connect, secret: openSecret(row), signal: bounded });
  }

  /** Sends a command to the engine of a sandbox. */
  async function command(
    db: Db,
    id: string,
    engineCommand: EngineCommand,
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    const row = await store.selectSandbox(db, id);
    if (!row) throw new EngineUnreachableError('The sandbox is gone.');
    return send(row, engineCommand, signal);
  }

  /** A connection to the engine or to a port of a sandbox, with the engine's secret for who speaks HTTP over it. */
  async function connect(
    db: Db,
    id: string,
    target: 'engine' | { port: number },
    signal: AbortSignal,
  ): Promise<{ connection: Duplex; secret: string }> {
    const row = await store.selectSandbox(db, id);
    if (!row) throw new EngineUnreachableError('The sandbox is gone.');
    const connection = await driver.connect(row.id, target, signal).catch((cause: unknown) => {
      throw new EngineUnreachableError('The sandbox cannot be reached.', { cause });
    });
    return { connection, secret: openSecret(row) };
  }

  /** Lets a sandbox go: nobody speaks for it any more, and a job removes every trace. */
  async function release(db: Db, id: string): Promise<void> {
    const row = await store.markRemoving(db, id, now());
    if (!row) return;
    await enqueue(db, {
      name: hostTask(REMOVE_TASK, row.host_id),
      payload: { sandbox_id: id },
      key: `${REMOVE_TASK}:${id}`,
      queue: `sandbox:${id}`,
    });
  }

  /** Removes every trace and then the row; succeeds in every state. */
  async function remove(db: Db, id: string): Promise<void> {
    await inLane(id, async () => {
      await driver.destroy(id);
      await store.deleteSandbox(db, id);
    });
  }

  /** Whether a host has not been heard of for so long that others must act in its place. */
  async function isHostGone(db: Db, id: string, silentSeconds: number): Promise<boolean> {
    return id !== hostId && (await isHostSilent(db, { id, silentSeconds }));
  }

  /** Whose secret it is; null when nobody's. */
  async function identify(db: Db, secret: string): Promise<SandboxIdentity | null> {
    const row = await store.selectSandboxBySecret(db, hashSecret(secret));
    if (!row) return null;
    return {
      sandboxId: row.id,
      organizationId: row.organization_id,
      environmentId: row.environment_id,
      replicaId: row.replica_id,
      incarnation: row.incarnation,
    };
  }

  function specOf(row: store.SandboxRow): SandboxSpec {
    return {
      limits: limitsOf(row.size),
      layers: row.layers,
      engineEnvironment: {
        ...engineEnvironment,
        [engineVariables.secret]: openSecret(row),
        [engineVariables.sandboxId]: row.id,
        [engineVariables.incarnation]: String(row.incarnation),
      },
    };
  }

  const openSecret = (row: store.SandboxRow) =>
    sealer.open(row.secret, sealedContext('sandbox', 'secret', row.id));

  return {
    hostId,
    make,
    start,
    inspect,
    send,
    command,
    connect,
    release,
    remove,
    identify,
    isHostGone,
    /** Forgets a sandbox of a host that is gone; should the host come back, it finds it without a row and removes it. */
    forget: store.deleteSandbox,
    suspend,
    endSilent,
    snapshot: (id: string, layer: string) => inLane(id, () => driver.snapshot(id, layer)),
    hasLayer: (layer: string) => driver.hasLayer(layer),
    removeLayer: (layer: string) => driver.removeLayer(layer),
    find: store.selectSandbox,
    lock: store.lockSandbox,
    ofHost: (db: Db) => store.selectSandboxesOfHost(db, hostId),
    nextIncarnation: store.bumpIncarnation,
    giveToReplica: store.giveToReplica,
    setAcked: store.setAcked,
  };
}

function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
