/*
 * The life of an execution: `pending` until a worker begins it, `creating` until its replica is awake, `running` until the
 * turn of its message ends, then `completed` or `failed`, once. Whoever ends one holds the automation first, and so does
 * who decides whether a fire of a schedule has to wait for the run before it: each sees what the other has done.
 * Replicas are held before automations, and automations before executions.
 */
import type { EndedTurn, Outcome } from '../chat/turns.ts';
import type { Db } from '../db/database.ts';
import { truncateBytes } from '../lib/text.ts';
import type { Moved } from '../replica/service.ts';
import { enqueue } from '../work/enqueue.ts';
import { hasJob } from '../work/has-job.ts';
import { afterRun, type FailedRun, type RunEnd } from './breaker.ts';
import * as executions from './execution-store.ts';
import type { AutomationRow, Fire } from './fire.ts';
import { lockAutomation, updateAutomation } from './store.ts';
import { cronConfigOf } from './triggers.ts';

export type Executions = ReturnType<typeof createExecutions>;

type Parts = { newId: () => string; now: () => Date };

export const RUN_TASK = 'automation.run';
const RUN_ATTEMPTS = 8;
const MAX_ERROR_BYTES = 4_000;
const SWEEP_BATCH = 200;
/** What ended longer ago is forgotten, with what had started it. */
const KEPT_MS = 90 * 24 * 3_600_000;
/** A job comes at once; what has waited for so long has lost its own. */
const OVERDUE_MS = 5 * 60_000;

export function createExecutions({ newId, now }: Parts) {
  /**
   * Notes that an automation shall run, and adds the job for it. Null when it will not: the cause is known, or a fire
   * of the schedule waits already that stands for this one too.
   */
  async function begin(
    db: Db,
    automation: AutomationRow,
    fire: Fire,
  ): Promise<executions.ExecutionRow | null> {
    const cron = fire.triggerType === 'cron' ? cronConfigOf(automation) : null;
    const isAlone = cron !== null && cron.allow_overlap !== true;
    if (isAlone) await lockAutomation(db, automation.id);
    if (isAlone && cron.catch_up !== 'all' && (await executions.selectOldestPending(db, automation.id))) {
      return null;
    }
    const mustWait = isAlone && (await executions.hasScheduledRun(db, automation.id, { withPending: true }));
    const row = await insert(db, automation, fire);
    if (row && !mustWait) await requestRun(db, row);
    return row;
  }

  async function insert(
    db: Db,
    automation: AutomationRow,
    fire: Fire,
  ): Promise<executions.ExecutionRow | null> {
    const payload = fire.payload ?? null;
    const row = await executions.insertExecution(db, {
      id: newId(),
      automation_id: automation.id,
      organization_id: automation.organization_id,
      trigger_type: fire.triggerType,
      trigger_payload: payload === null ? null : JSON.stringify(payload),
      cause: fire.cause,
      subject: fire.subject,
      status: 'pending',
      config: JSON.stringify(automation.config),
      triggered_at: now(),
    });
    return row ?? null;
  }

  /** Adds the job that begins an execution. Those of one pull request come one after the other. */
  async function requestRun(
    db: Db,
    row: Pick<executions.ExecutionRow, 'id' | 'automation_id' | 'subject'>,
  ): Promise<void> {
    await enqueue(db, {
      name: RUN_TASK,
      payload: { execution_id: row.id },
      key: runKey(row),
      keyMode: 'preserve_run_at',
      maxAttempts: RUN_ATTEMPTS,
      ...(row.subject !== null && { queue: `automation:${row.automation_id}:${row.subject}` }),
    });
  }

  /** Lets the fire of the schedule begin that has waited longest, when none is in work. The caller holds the automation. */
  async function startNextPending(db: Db, automationId: string): Promise<void> {
    const next = await executions.selectOldestPending(db, automationId);
    if (!next || (await executions.hasScheduledRun(db, automationId, { withPending: false }))) return;
    await requestRun(db, next);
  }

  /** Ends an execution that has begun, once. */
  function end(db: Db, row: executions.OpenExecution, how: RunEnd): Promise<void> {
    return endFrom(db, row, { how, from: executions.begun });
  }

  /** Ends an execution that waits and cannot begin. Whoever asks may not know that it has begun: then it goes on. */
  function refuse(db: Db, row: executions.OpenExecution, how: Omit<FailedRun, 'status'>): Promise<void> {
    return endFrom(db, row, { how: { status: 'failed', ...how }, from: ['pending'] });
  }

  /** Does what follows from an end for the automation, too. */
  async function endFrom(
    db: Db,
    row: executions.OpenExecution,
    { how, from }: { how: RunEnd; from: readonly executions.ExecutionStatus[] },
  ): Promise<void> {
    const automation = await lockAutomation(db, row.automation_id);
    if (!automation) return;
    const at = now();
    const error = how.status === 'failed' ? truncateBytes(how.error, MAX_ERROR_BYTES) : null;
    const isEnded = await executions.endExecution(db, { id: row.id, from, status: how.status, error, at });
    if (!isEnded) return;
    const change = afterRun(automation, how);
    const isSwitchedOff = change.enabled === false;
    if (Object.keys(change).length > 0) {
      await updateAutomation(db, automation.id, { ...change, ...(isSwitchedOff && { updated_at: at }) });
    }
    await startNextPending(db, automation.id);
  }

  /** Told of every move of a replica, whose row is held. */
  async function onMoved(db: Db, { row }: Moved): Promise<void> {
    if (row.source !== 'automation') return;
    if (row.state === 'active') return executions.markRunning(db, row.id);
    const how = endByMove(row);
    if (!how) return;
    const open = await executions.selectOpenOfReplica(db, row.id);
    // However many runs wait in a replica, it has failed once.
    for (const [index, each] of open.entries()) await end(db, each, index === 0 ? how : ended(how.error));
  }

  /** Told of the end of every turn; the row of its replica is held. */
  async function onTurnEnded(db: Db, { row, messageId, outcome }: EndedTurn): Promise<void> {
    if (row.source !== 'automation') return;
    const open = await executions.selectOpenOfMessage(db, messageId);
    if (open) await end(db, open, endByTurn(outcome));
  }

  /** What nobody was told of: messages that left their queue without a turn. */
  function findMissed(db: Db): Promise<executions.MissedEnd[]> {
    return executions.selectMissedEnds(db, SWEEP_BATCH);
  }

  function endMissed(db: Db, { state, error, ...open }: executions.MissedEnd): Promise<void> {
    return end(db, open, endByMessage(state, error));
  }

  /** Adds jobs that are missing, whatever became of them. One that is still tried keeps count of its attempts. */
  async function requestOverdue(db: Db): Promise<void> {
    const before = new Date(now().getTime() - OVERDUE_MS);
    for (const row of await executions.selectOverdue(db, { before, limit: SWEEP_BATCH })) {
      if (!(await hasJob(db, runKey(row)))) await requestRun(db, row);
    }
  }

  /** Lets go of old history, so that it does not grow without end. */
  async function forgetOld(db: Db, signal: AbortSignal): Promise<void> {
    const old = { before: new Date(now().getTime() - KEPT_MS), limit: SWEEP_BATCH };
    do signal.throwIfAborted();
    while ((await executions.deleteEnded(db, old)) > 0);
  }

  return {
    begin,
    insert,
    refuse,
    startNextPending,
    onMoved,
    onTurnEnded,
    findMissed,
    endMissed,
    requestOverdue,
    forgetOld,
    list: executions.selectExecutions,
  };
}

const runKey = ({ id }: { id: string }) => `${RUN_TASK}:${id}`;

/** What a move of a replica means for what runs in it; null when it means nothing. */
function endByMove({ state, error_message }: Moved['row']): FailedRun | null {
  if (state === 'failed') return failure(error_message ?? 'The replica has failed.');
  if (state === 'deleting') return ended('The replica was deleted before the turn had ended.');
  if (state === 'sleeping' || state === 'archived')
    return ended('The replica went to sleep before the turn had ended.');
  return null;
}

function endByTurn({ state, error }: Outcome): RunEnd {
  if (state === 'completed') return { status: 'completed' };
  if (state === 'interrupted') return ended('The turn was interrupted.');
  return failure(error ?? 'The agent failed without a reason.');
}

function endByMessage(state: string | null, error: string | null): RunEnd {
  if (state === 'completed' || state === 'failed' || state === 'interrupted')
    return endByTurn({ state, error });
  return ended('The message was taken out of its queue before the agent had begun with it.');
}

function failure(error: string): FailedRun {
  return { status: 'failed', error, isCounted: true };
}

function ended(error: string): FailedRun {
  return { status: 'failed', error, isCounted: false };
}
