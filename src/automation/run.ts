import type { ChatService } from '../chat/service.ts';
import type { Db } from '../db/database.ts';
import { publicStatus } from '../replica/lifecycle.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import type { WebhookTarget } from '../replica/webhook-target.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import { switchedOff } from './breaker.ts';
import {
  type ExecutionRow,
  hasScheduledRun,
  lockPending,
  selectExecution,
  selectReplicaOfSubject,
  updateExecution,
} from './execution-store.ts';
import type { Executions } from './executions.ts';
import type { AutomationRow } from './fire.ts';
import { renderPrompt } from './prompt.ts';
import { isMember, lockAutomation, selectAutomationById, updateAutomation } from './store.ts';
import { cronConfigOf } from './triggers.ts';
import { messageOf, replicaOf, runnerOf } from './workspace.ts';

type Parts = {
  replicas: Pick<ReplicaService, 'create' | 'lock'>;
  chats: Pick<ChatService, 'firstMessage' | 'send'>;
  executions: Pick<Executions, 'insert' | 'refuse'>;
  sealer: Pick<Sealer, 'open'>;
  newId: () => string;
  now: () => Date;
};

export type Runs = ReturnType<typeof createRuns>;

const SWITCHED_OFF = 'The automation was switched off before the run began.';
const OWNER_GONE = 'The owner of the automation does not belong to the organization any more.';

/** Begins executions. A replica is held before its automation, as it is when a turn ends. */
export function createRuns({ replicas, chats, executions, sealer, newId, now }: Parts) {
  /** Begins a pending execution, unless it has begun, is gone, or has to wait for another one. */
  async function start(db: Db, executionId: string): Promise<void> {
    const known = await selectExecution(db, executionId);
    if (known?.status !== 'pending') return;
    const target = await livingReplica(db, known);
    const automation = await holdAutomation(db, known);
    if (!automation) return;
    const obstacle = await obstacleOf(db, automation);
    if (obstacle !== null) {
      await executions.refuse(db, known, { error: obstacle, isCounted: false });
      return;
    }
    const execution = await lockPending(db, executionId);
    if (!execution || (await mustWait(db, automation, execution))) return;
    if (target) await sendTo(db, automation, { execution, target });
    else await createFor(db, automation, execution);
  }

  /** Begins a run because somebody asks for it, whatever else is in work. The caller holds the automation. */
  async function startNow(db: Db, automation: AutomationRow): Promise<{ id: string; replicaId: string }> {
    const fire = { triggerType: 'manual', payload: null, cause: `manual:${newId()}`, subject: null } as const;
    const execution = await executions.insert(db, automation, fire);
    if (!execution) throw new Error('a cause that was made for this run is known already');
    return { id: execution.id, replicaId: await createFor(db, automation, execution) };
  }

  /** The replica in which earlier events of the same pull request were worked on, if it can take another message. */
  async function livingReplica(db: Db, execution: ExecutionRow): Promise<ReplicaRow | null> {
    const { automation_id: automationId, subject } = execution;
    const replicaId = subject === null ? null : await selectReplicaOfSubject(db, { automationId, subject });
    const row = replicaId === null ? undefined : await replicas.lock(db, replicaId);
    const status = row ? publicStatus[row.state] : null;
    return row && status !== null && status !== 'error' ? row : null;
  }

  /** Only runs of a schedule depend on what else is in work. */
  function holdAutomation(db: Db, execution: ExecutionRow): Promise<AutomationRow | undefined> {
    const { automation_id: id, trigger_type } = execution;
    return trigger_type === 'cron' ? lockAutomation(db, id) : selectAutomationById(db, id);
  }

  async function mustWait(db: Db, automation: AutomationRow, execution: ExecutionRow): Promise<boolean> {
    if (execution.trigger_type !== 'cron' || cronConfigOf(automation)?.allow_overlap === true) return false;
    return hasScheduledRun(db, automation.id, { withPending: false });
  }

  /** Why an automation must not run, or null. Who has left the organization has nothing run in it. */
  async function obstacleOf(db: Db, automation: AutomationRow): Promise<string | null> {
    if (!automation.enabled) return SWITCHED_OFF;
    const { id, organization_id: organizationId, person_id: personId } = automation;
    if (personId === null || (await isMember(db, { organizationId, personId }))) return null;
    await updateAutomation(db, id, { ...switchedOff(OWNER_GONE), updated_at: now() });
    return OWNER_GONE;
  }

  async function createFor(db: Db, automation: AutomationRow, execution: ExecutionRow): Promise<string> {
    const prompt = renderPrompt(automation.prompt, execution.trigger_payload);
    const webhook = callbackOf(automation);
    const body = replicaOf(automation, { executionId: execution.id, prompt, webhook });
    const replica = await replicas.create(db, runnerOf(automation), body, {
      source: 'automation',
      autoStopMinutes: automation.workspace_auto_stop_minutes,
    });
    const { messageId } = await chats.firstMessage(db, replica, body);
    await updateExecution(db, execution.id, {
      status: 'creating',
      replica_id: replica.id,
      message_id: messageId,
    });
    return replica.id;
  }

  function callbackOf({
    id,
    callback_url: url,
    callback_secret: sealed,
  }: AutomationRow): WebhookTarget | null {
    if (url === null) return null;
    const secret = sealed && sealer.open(sealed, sealedContext('automation', 'callback_secret', id));
    return { url, secret };
  }

  async function sendTo(
    db: Db,
    automation: AutomationRow,
    { execution, target }: { execution: ExecutionRow; target: ReplicaRow },
  ): Promise<void> {
    const prompt = renderPrompt(automation.prompt, execution.trigger_payload);
    const { messageId } = await chats.send(db, runnerOf(automation), {
      ...messageOf(automation, prompt),
      id: target.id,
      isStrict: false,
    });
    await updateExecution(db, execution.id, {
      status: target.state === 'active' ? 'running' : 'creating',
      replica_id: target.id,
      message_id: messageId,
    });
  }

  return { start, startNow };
}
