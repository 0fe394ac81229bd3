import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { replicaOperations } from '../contract/replica.ts';
import type { Db } from '../db/database.ts';
import { afterCommit } from '../db/transact.ts';
import type { EnvironmentService } from '../environment/service.ts';
import { toMicros } from '../model/micros.ts';
import type { RepositoryService } from '../repository/service.ts';
import { hostTask } from '../sandbox/host.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import type { UsageService } from '../usage/service.ts';
import { enqueue } from '../work/enqueue.ts';
import { touchProgress } from './due-store.ts';
import {
  nextState,
  publicStatus,
  type ReplicaReport,
  type ReplicaRequest,
  type ReplicaState,
  replicaStates,
  statesOf,
  workOwed,
} from './lifecycle.ts';
import { dueTimes, type PolicyTimes } from './policy.ts';
import { requestPurge } from './purge.ts';
import * as store from './store.ts';
import { parseWebhookTarget } from './webhook-target.ts';

export type { ReplicaRepositoryRow, ReplicaRow } from './store.ts';
export type ReplicaService = ReturnType<typeof createReplicaService>;
export type CreateBody = z.output<(typeof replicaOperations.createReplica)['body']>;
export type ReplicaEvent = { type: string; payload: object };

type ListQuery = z.output<(typeof replicaOperations.listReplicas)['query']>;
/** What a warm pool gave, or why it gave nothing. */
export type Claimed = { sandboxId: string; workspaceId: string; reason: string };
/** A replica in its new state, and the one it comes from. */
export type Moved = { row: store.ReplicaRow; from: ReplicaState };
/** What a creation says besides its body. */
type Origin = { source: string; autoStopMinutes?: number | null };
type Parts = {
  environments: Pick<EnvironmentService, 'forReplica'>;
  repositories: Pick<RepositoryService, 'boundRepositories'>;
  usage: Pick<UsageService, 'open' | 'close'>;
  /** Takes a ready workspace for a new replica in the same transaction. */
  claim: (
    db: Db,
    wanted: { organizationId: string; environmentId: string; replicaId: string; size: string | null },
  ) => Promise<Claimed | { reason: string }>;
  /** Told of every move in its transaction. */
  onMoved: (db: Db, moved: Moved) => Promise<void>;
  /** Told when a replica could not be started, in the same transaction: nobody will work on its messages. */
  onFailed: (db: Db, row: store.ReplicaRow) => Promise<void>;
  /** Lets a sandbox go: from then on nobody can speak for it. */
  release: (db: Db, sandboxId: string) => Promise<void>;
  signals: { touch(topic: string): void };
  policyTimes: PolicyTimes;
  allowPrivateTargets: boolean;
  hostId: string;
  sealer: Sealer;
  newId: () => string;
  now: () => Date;
};

export const WORK_TASK = 'replica.work';
const PROGRESS_STEP_MS = 2_000;

/** The topic under which the processes tell each other that a replica has news. */
export const replicaTopic = (id: string) => `replica:${id}`;

/**
 * The one place that moves a replica from state to state. A request may be refused; a report of something that the
 * replica has left behind is dropped. State, event, bill and the job for what is owed change in one transaction.
 */
export function createReplicaService(parts: Parts) {
  const { environments, repositories, usage, signals, policyTimes, hostId, sealer, newId, now } = parts;

  async function find(db: Db, caller: Caller, id: string): Promise<store.ReplicaRow> {
    const row = await store.selectReplica(db, { organizationId: caller.organizationId, id });
    if (!row || publicStatus[row.state] === null) throw notFound('Replica');
    return row;
  }

  async function hold(db: Db, caller: Caller, id: string): Promise<store.ReplicaRow> {
    const row = await store.lockOwnReplica(db, { organizationId: caller.organizationId, id });
    if (!row || publicStatus[row.state] === null) throw notFound('Replica');
    return row;
  }

  async function create(
    db: Db,
    caller: Caller,
    body: CreateBody,
    { source, autoStopMinutes = null }: Origin = { source: 'api' },
  ): Promise<store.ReplicaRow> {
    const environment = await environments.forReplica(db, caller, body);
    const bound = await repositories.boundRepositories(db, environment);
    const id = newId();
    const at = now();
    const webhook = body.webhook_url === undefined ? null : parseWebhookTarget(body.webhook_url, parts);
    const secret = webhook?.secret;
    const budget = body.config?.model_budget_usd;
    const row = await store.insertReplica(db, {
      id,
      organization_id: caller.organizationId,
      environment_id: environment.id,
      person_id: caller.personId,
      name: body.name,
      source,
      state: 'preparing',
      incarnation: 1,
      coding_agent: body.coding_agent,
      lifecycle_policy: body.lifecycle_policy,
      size: body.size ?? null,
      auto_stop_minutes: autoStopMinutes,
      config: JSON.stringify(ownConfig(body.config)),
      model_budget_micros: budget === undefined ? null : toMicros(budget),
      webhook_url: webhook?.url ?? null,
      webhook_secret: secret ? sealer.seal(secret, sealedContext('replica', 'webhook_secret', id)) : null,
      host_id: hostId,
      boot_id: newId(),
      progress_at: at,
      last_activity_at: at,
      created_at: at,
      updated_at: at,
    });
    await store.insertRepositories(
      db,
      bound.map((repository, position) => ({
        replica_id: id,
        repository_id: repository.id,
        position,
        name: repository.name,
        url: repository.url,
        default_branch: repository.default_branch,
        branch: repository.default_branch,
        updated_at: at,
      })),
    );
    const claimed = await parts.claim(db, {
      organizationId: caller.organizationId,
      environmentId: environment.id,
      replicaId: id,
      size: body.size ?? null,
    });
    const isWarm = 'sandboxId' in claimed;
    const placed = await store.updateReplica(db, row, {
      start_kind: isWarm ? 'warm' : null,
      start_reason: claimed.reason,
      // The engine of a warm workspace runs already: its first boot needs no start.
      ...(isWarm && {
        sandbox_id: claimed.sandboxId,
        warm_workspace_id: claimed.workspaceId,
        started_boot_id: row.boot_id,
      }),
    });
    await emit(db, id, [{ type: 'replica.status.changed', payload: { status: 'preparing' } }]);
    await owe(db, placed ?? row);
    return placed ?? row;
  }

  async function list(
    db: Db,
    caller: Caller,
    query: ListQuery,
  ): Promise<{ rows: store.ReplicaRow[]; total: number }> {
    const states = query.status
      ? statesOf(query.status)
      : replicaStates.filter((state) => publicStatus[state] !== null);
    return store.selectReplicas(db, {
      organizationId: caller.organizationId,
      personId: query.user_id,
      source: query.source,
      states,
      order: query.status === 'archived' ? 'last_activity_at' : 'created_at',
      limit: query.limit,
      offset: (query.page - 1) * query.limit,
    });
  }

  /** Asks for a state. What is already so succeeds; what cannot be is refused with the state in the sentence. */
  async function request(db: Db, row: store.ReplicaRow, asked: ReplicaRequest): Promise<store.ReplicaRow> {
    const to = nextState(row.state, asked);
    if (to === null) throw refusal(row.state, asked);
    // Whoever wants it awake has something to do in it.
    const change = asked === 'wake' && row.closes_when_idle ? { closes_when_idle: false } : {};
    const isChanged = to !== row.state || 'closes_when_idle' in change;
    if (!isChanged) return row;
    const moved =
      to === row.state ? await store.updateReplica(db, row, change) : await move(db, row, to, change);
    if (!moved) throw new Error('a replica that is held has moved on');
    return moved;
  }

  /** Deletes what is the caller's, also when it is already deleted; 404 for anything else. */
  async function remove(db: Db, caller: Caller, id: string): Promise<void> {
    const known = await store.selectReplica(db, { organizationId: caller.organizationId, id });
    const row = known && (await store.lockReplica(db, id));
    if (!row) throw notFound('Replica');
    await request(db, row, 'delete');
  }

  /** Notes what a worker or an engine says; null when the replica has moved on and it no longer matters. */
  async function report(
    db: Db,
    row: store.ReplicaRow,
    said: ReplicaReport,
    change: Parameters<typeof store.updateReplica>[2] = {},
  ): Promise<store.ReplicaRow | null> {
    const to = nextState(row.state, said);
    const moved = to === null ? null : await move(db, row, to, change);
    if (moved && said === 'failed') await parts.onFailed(db, moved);
    return moved;
  }

  async function move(
    db: Db,
    row: store.ReplicaRow,
    to: ReplicaState,
    change: Parameters<typeof store.updateReplica>[2] = {},
  ): Promise<store.ReplicaRow | null> {
    const at = now();
    const isStart = to === 'waking' || (to === 'preparing' && row.state === 'preparing');
    const marks = {
      ...(to === 'active' && { active_since: at, last_activity_at: at }),
      ...(to === 'sleeping' && { slept_at: at }),
      ...(to === 'deleting' && { deleted_at: at }),
    };
    const moved = await store.updateReplica(db, row, {
      state: to,
      version: row.version + 1,
      progress_at: at,
      updated_at: at,
      attempts: to === row.state ? row.attempts : 0,
      ...(isStart && { incarnation: row.incarnation + 1, boot_id: newId() }),
      ...marks,
      ...dueTimes(to, { ...row, ...marks }, at, policyTimes),
      ...change,
    });
    if (!moved) return null;
    if (to === 'active') await usage.open(db, moved, at);
    else if (row.state === 'active') await usage.close(db, moved, at);
    const news = newsOf(row.state, to);
    if (news.length > 0) await emit(db, row.id, news);
    else afterCommit(db, () => signals.touch(replicaTopic(row.id)));
    await parts.onMoved(db, { row: moved, from: row.state });
    if (to === 'deleted') await requestPurge(db, { replicaId: moved.id, at });
    const isOver = to === 'failed' || to === 'deleting';
    if (isOver && moved.sandbox_id) await parts.release(db, moved.sandbox_id);
    await owe(db, moved);
    return moved;
  }

  /** Brings a replica to another host, because its own is gone and the disk with it. What is kept outside is restored. */
  async function rehome(db: Db, row: store.ReplicaRow): Promise<void> {
    const lost = row.state === 'active' ? await report(db, row, 'lost') : row;
    if (!lost) return;
    const isStart = workOwed[lost.state] === 'start';
    const moved = await store.updateReplica(db, lost, {
      version: lost.version + 1,
      host_id: hostId,
      sandbox_id: null,
      started_boot_id: null,
      has_booted: false,
      progress_at: now(),
      ...(isStart && { incarnation: lost.incarnation + 1, boot_id: newId() }),
    });
    if (moved) await owe(db, moved);
  }

  /** Adds the job for what the state owes; jobs of one replica run one after the other, on its host. */
  async function owe(db: Db, row: store.ReplicaRow, runAt?: Date): Promise<void> {
    if (workOwed[row.state] === null) return;
    await enqueue(db, {
      name: hostTask(WORK_TASK, row.host_id),
      payload: { replica_id: row.id },
      key: `${WORK_TASK}:${row.id}`,
      queue: `replica:${row.id}`,
      ...(runAt && { runAt }),
    });
  }

  /** Numbers events and writes them; readers of the stream learn of them after the commit. */
  async function emit(db: Db, replicaId: string, events: readonly ReplicaEvent[]): Promise<void> {
    if (events.length > 0) await append(db, { replicaId, events });
  }

  async function append(
    db: Db,
    appended: Pick<Parameters<typeof store.appendEvents>[1], 'replicaId' | 'activity'> & {
      events: readonly ReplicaEvent[];
    },
  ): Promise<void> {
    const { replicaId } = appended;
    await store.appendEvents(db, { ...appended, at: now() });
    afterCommit(db, () => signals.touch(replicaTopic(replicaId)));
  }

  /** Somebody used the replica: its time to sleep or to go is counted from now. */
  async function noteActivity(db: Db, row: store.ReplicaRow): Promise<void> {
    await store.updateReplica(db, row, activityOf(row));
  }

  /** Events of a replica that is held, which show that somebody uses it. */
  async function emitActivity(db: Db, row: store.ReplicaRow, events: readonly ReplicaEvent[]): Promise<void> {
    await append(db, { replicaId: row.id, events, activity: activityOf(row) });
  }

  function activityOf(row: store.ReplicaRow): store.Activity {
    const at = now();
    const active = { ...row, last_activity_at: at };
    const due = row.state === 'active' ? dueTimes('active', active, at, policyTimes) : {};
    return { last_activity_at: at, ...due };
  }

  /** No turn runs and no queue holds anything. */
  async function noteWorkDone(db: Db, row: store.ReplicaRow): Promise<void> {
    await noteActivity(db, row);
    const isDone = row.state === 'active' && row.lifecycle_policy === 'delete_when_done';
    if (isDone) await request(db, row, 'delete');
    else if (row.closes_when_idle && nextState(row.state, 'archive')) await request(db, row, 'archive');
  }

  /** The watchdog need not look at this replica for a while. */
  function noteProgress(db: Db, id: string): Promise<void> {
    const at = now();
    return touchProgress(db, { id, at, olderThan: new Date(at.getTime() - PROGRESS_STEP_MS) });
  }

  return {
    find,
    hold,
    lock: store.lockReplica,
    read: store.selectReplicaById,
    update: store.updateReplica,
    create,
    list,
    remove,
    request,
    report,
    rehome,
    owe,
    emit,
    emitActivity,
    noteActivity,
    noteWorkDone,
    noteProgress,
    repositoriesOf: store.selectRepositories,
    diffsOf: store.selectDiffs,
    hasRepository: store.hasRepository,
    stepsOf: store.selectSteps,
  };
}

/** Why a replica failed is for the service to say. */
function ownConfig(config: CreateBody['config']): object {
  const { provisioning_error: _error, ...own } = config ?? {};
  return own;
}

function refusal(state: ReplicaState, asked: ReplicaRequest): AppError {
  const status = publicStatus[state] ?? 'deleted';
  const verb = { wake: 'woken', sleep: 'put to sleep', archive: 'archived', delete: 'deleted' }[asked];
  const remedy = status === 'error' ? 'delete it and create another one' : 'wait until it is active';
  return new AppError('invalid_state', `A replica with status ${status} cannot be ${verb}; ${remedy}.`);
}

/** What a move is for those who follow the replica. */
function newsOf(from: ReplicaState, to: ReplicaState): ReplicaEvent[] {
  const status = publicStatus[to] ?? 'deleted';
  return [
    ...(status === publicStatus[from] ? [] : [{ type: 'replica.status.changed', payload: { status } }]),
    ...(to === 'active' ? [{ type: 'engine.status.changed', payload: { status: 'ready' } }] : []),
    ...(from === 'active' ? [{ type: 'engine.status.changed', payload: { status: 'stopped' } }] : []),
  ];
}
