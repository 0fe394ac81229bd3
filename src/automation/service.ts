import { createHash } from 'node:crypto';
import type { Updateable } from 'kysely';
import type { z } from 'zod';
import type { Caller } from '../account/caller.ts';
import type { CodingAgentService } from '../coding-agent/service.ts';
import type { automationOperations } from '../contract/automation.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import type { Automation as AutomationTable } from '../db/schema.ts';
import type { EnvironmentService } from '../environment/service.ts';
import { parseWebhookTarget } from '../replica/webhook-target.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import { choiceRefusal, isForeignModel } from './agent-choice.ts';
import { scheduleRefusal } from './cron.ts';
import { deleteDebounces } from './debounce-store.ts';
import type { ExecutionRow } from './execution-store.ts';
import type { Executions } from './executions.ts';
import type { AutomationRow } from './fire.ts';
import { renderPrompt } from './prompt.ts';
import type { Runs } from './run.ts';
import { keepsSchedule, scheduleColumns } from './schedule.ts';
import * as store from './store.ts';
import { cronConfigOf, hasTrigger, repositoryIdsOf } from './triggers.ts';

type CreateBody = z.output<(typeof automationOperations.createAutomation)['body']>;
type UpdateBody = z.output<(typeof automationOperations.updateAutomation)['body']>;
type ListQuery = z.output<(typeof automationOperations.listAutomations)['query']>;
type Page = { page: number; limit: number };
type Parts = {
  environments: Pick<EnvironmentService, 'hold'>;
  codingAgents: Pick<CodingAgentService, 'read'>;
  executions: Pick<Executions, 'list'>;
  runs: Pick<Runs, 'startNow'>;
  /** The operator's word that users may name addresses that are not public. */
  allowPrivateTargets: boolean;
  sealer: Sealer;
  randomBytes: (size: number) => Buffer;
  newId: () => string;
  now: () => Date;
};

/** An automation with the token of its own address, when it has one. */
export type Automation = AutomationRow & { webhookToken: string | null };
export type AutomationService = ReturnType<typeof createAutomationService>;

const MAX_AUTOMATIONS = 1_000;
const TOKEN_BYTES = 32;

export function createAutomationService(parts: Parts) {
  const { environments, codingAgents, executions, runs, sealer, randomBytes, newId, now } = parts;

  async function list(db: Db, caller: Caller, query: ListQuery) {
    if (query.scope === 'user') requirePerson(caller);
    const { page, limit, enabled, trigger_type: triggerType, search } = query;
    const { rows, total } = await store.selectAutomations(db, {
      organizationId: caller.organizationId,
      personId: query.scope === 'org' ? null : caller.personId,
      hasShared: query.scope !== 'user',
      ...(enabled !== undefined && { enabled: enabled === 'true' }),
      triggerType,
      search,
      limit,
      offset: (page - 1) * limit,
    });
    return { rows: rows.map(open), total };
  }

  async function read(db: Db, caller: Caller, id: string): Promise<Automation> {
    return open(await find(db, caller, id));
  }

  async function create(db: Db, caller: Caller, { scope, ...body }: CreateBody): Promise<Automation> {
    if (scope === 'user') await holdOwner(db, caller);
    await environments.hold(db, caller, body.environment_id);
    await requireTriggers(db, caller, body);
    if ((await store.countAutomations(db, caller.organizationId)) >= MAX_AUTOMATIONS) {
      throw new AppError(
        'limit_reached',
        `An organization has at most ${MAX_AUTOMATIONS} automations; delete one first.`,
      );
    }
    const [id, at] = [newId(), now()];
    const { webhook_secret: secret = null, webhook_url: callback, triggers, config, ...plain } = body;
    const { enabled = true, agent_provider = null, model = null, goal_mode = false } = body;
    await requireAgent(db, caller, { agent_provider, model, goal_mode });
    requireCustomFor(secret, body);
    const row = await store.insertAutomation(db, {
      ...plain,
      id,
      organization_id: caller.organizationId,
      person_id: scope === 'user' ? caller.personId : null,
      created_by: caller.personId,
      triggers: JSON.stringify(triggers),
      config: JSON.stringify(config ?? {}),
      ...(hasTrigger(body, 'custom') && newToken(id)),
      webhook_secret: sealed(id, 'webhook_secret', secret),
      ...callbackColumns(id, callback),
      ...scheduleColumns({ id, triggers, enabled }, at),
      created_at: at,
      updated_at: at,
    });
    return open(row);
  }

  async function update(
    db: Db,
    caller: Caller,
    { id, body }: { id: string; body: UpdateBody },
  ): Promise<Automation> {
    const row = await hold(db, caller, id);
    if (body.environment_id !== undefined) await environments.hold(db, caller, body.environment_id);
    if (body.triggers) await requireTriggers(db, caller, { triggers: body.triggers });
    const { webhook_secret: secret, webhook_url: callback, triggers, config, ...plain } = body;
    const choice = chosen(row, body);
    const after = {
      ...row,
      ...choice,
      triggers: triggers ?? row.triggers,
      enabled: body.enabled ?? row.enabled,
    };
    if (changesChoice(body)) await requireAgent(db, caller, after);
    requireCustomFor(secret, after);
    const at = now();
    const change: Updateable<AutomationTable> = {
      ...plain,
      ...choice,
      ...(triggers && { triggers: JSON.stringify(triggers) }),
      ...(config && { config: JSON.stringify(config) }),
      ...(secret !== undefined && { webhook_secret: sealed(row.id, 'webhook_secret', secret) }),
      ...callbackColumns(row.id, callback),
      ...tokenColumns(row, after),
      ...(after.enabled !== row.enabled && { failure_count: 0, disabled_reason: null }),
      ...(!keepsSchedule(row, after) && scheduleColumns(after, at)),
      updated_at: at,
    };
    const changed = await store.updateAutomation(db, row.id, change);
    if (!changed) throw notFound('Automation');
    // Switched on again, it begins anew: what came before is not run late.
    if (row.enabled && !after.enabled) await deleteDebounces(db, row.id);
    return open(changed);
  }

  /** Its history and what waits to be run go with it; replicas that it made stay. */
  async function remove(db: Db, caller: Caller, id: string): Promise<void> {
    const row = await hold(db, caller, id);
    await store.deleteAutomation(db, row.id);
  }

  /** Removes the personal ones of somebody who has left the organization: nobody else sees them. */
  function removePersonal(db: Db, of: { organizationId: string; personId: string }): Promise<void> {
    return store.deletePersonal(db, of);
  }

  /** Runs an automation because somebody asks for it, also one that is switched off. */
  async function trigger(db: Db, caller: Caller, id: string): Promise<{ id: string; replicaId: string }> {
    const row = await hold(db, caller, id);
    requireCron(row);
    return runs.startNow(db, row);
  }

  /** The prompt that a run would begin with, if this were what has started it. */
  async function rehearse(
    db: Db,
    caller: Caller,
    { id, payload }: { id: string; payload: unknown },
  ): Promise<string> {
    const row = await find(db, caller, id);
    return renderPrompt(row.prompt, payload);
  }

  async function listExecutions(
    db: Db,
    caller: Caller,
    { id, page, limit }: Page & { id: string },
  ): Promise<{ rows: ExecutionRow[]; total: number }> {
    const row = await find(db, caller, id);
    return executions.list(db, { automationId: row.id, limit, offset: (page - 1) * limit });
  }

  /** Personal ones are there for their owners only; absent, foreign and somebody else's are one 404. */
  async function find(db: Db, caller: Caller, id: string): Promise<AutomationRow> {
    const row = await store.selectAutomation(db, { organizationId: caller.organizationId, id });
    if (!row || (row.person_id !== null && row.person_id !== caller.personId)) throw notFound('Automation');
    return row;
  }

  async function hold(db: Db, caller: Caller, id: string): Promise<AutomationRow> {
    const row = await store.lockAutomation(db, (await find(db, caller, id)).id);
    if (!row) throw notFound('Automation');
    return row;
  }

  /** Whoever owns an automation stays in the organization until it is there, so that it goes when they leave. */
  async function holdOwner(db: Db, caller: Caller): Promise<void> {
    requirePerson(caller);
    const { organizationId, personId } = caller;
    if (personId !== null && (await store.holdMember(db, { organizationId, personId }))) return;
    throw new AppError('unauthenticated', 'You do not belong to the organization any more.');
  }

  async function requireTriggers(
    db: Db,
    { organizationId }: Caller,
    wanted: { triggers: unknown },
  ): Promise<void> {
    const cron = cronConfigOf(wanted);
    const refusal = cron && scheduleRefusal(cron.schedule, cron.timezone);
    if (refusal) throw new AppError('invalid_request', `The schedule ${refusal}.`);
    const ids = repositoryIdsOf(wanted);
    if (!(await store.hasRepositories(db, { organizationId, ids }))) throw notFound('Repository');
  }

  /** A model of another provider is let through where the organization has its own API for the agent. */
  async function requireAgent(
    db: Db,
    caller: Caller,
    wanted: Parameters<typeof choiceRefusal>[0],
  ): Promise<void> {
    const refusal = choiceRefusal(wanted);
    if (refusal !== null) throw new AppError('invalid_request', refusal);
    if (!isForeignModel(wanted)) return;
    const agent = wanted.agent_provider as CodingAgent;
    const { baseUrl } = await codingAgents.read(db, caller, agent);
    if (baseUrl !== null) return;
    throw new AppError(
      'invalid_request',
      `The model ${wanted.model} is not one that ${agent} can use; choose another one, or another agent_provider.`,
    );
  }

  function newToken(id: string) {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    return {
      webhook_token: sealer.seal(token, sealedContext('automation', 'webhook_token', id)),
      webhook_token_hash: createHash('sha256').update(token).digest(),
    };
  }

  /** The address stays as long as there is a custom trigger, and is never the same again after that. */
  function tokenColumns(before: AutomationRow, after: { triggers: unknown }): Updateable<AutomationTable> {
    const isCustom = hasTrigger(after, 'custom');
    if (isCustom === hasTrigger(before, 'custom')) return {};
    return isCustom
      ? newToken(before.id)
      : { webhook_token: null, webhook_token_hash: null, webhook_secret: null };
  }

  function callbackColumns(id: string, given: CreateBody['webhook_url']): Updateable<AutomationTable> {
    if (given === undefined) return {};
    if (given === null) return { callback_url: null, callback_secret: null };
    const { url, secret } = parseWebhookTarget(given, parts);
    return { callback_url: url, callback_secret: sealed(id, 'callback_secret', secret) };
  }

  /** An empty secret is none. */
  function sealed(
    id: string,
    column: 'webhook_secret' | 'callback_secret',
    secret: string | null,
  ): Buffer | null {
    return secret ? sealer.seal(secret, sealedContext('automation', column, id)) : null;
  }

  function open(row: AutomationRow): Automation {
    const { id, webhook_token: sealed } = row;
    const context = sealedContext('automation', 'webhook_token', id);
    return { ...row, webhookToken: sealed && sealer.open(sealed, context) };
  }

  return { list, read, create, update, remove, removePersonal, trigger, rehearse, listExecutions };
}

/** Another agent without a model of its own leaves the model behind. */
function chosen(row: AutomationRow, body: UpdateBody) {
  const { agent_provider = row.agent_provider, goal_mode = row.goal_mode } = body;
  const kept = agent_provider === row.agent_provider ? row.model : null;
  return { agent_provider, goal_mode, model: body.model === undefined ? kept : body.model };
}

function changesChoice({ agent_provider, model, goal_mode }: UpdateBody): boolean {
  return agent_provider !== undefined || model !== undefined || goal_mode !== undefined;
}

function requirePerson(caller: Caller): void {
  if (caller.personId !== null) return;
  throw new AppError(
    'forbidden',
    'An org API key has no personal automations; use a personal API key, or sign in.',
  );
}

function requireCustomFor(secret: string | null | undefined, automation: { triggers: unknown }): void {
  if (!secret || hasTrigger(automation, 'custom')) return;
  throw new AppError('invalid_request', 'A webhook_secret is for automations with a custom trigger only.');
}

function requireCron(automation: AutomationRow): void {
  if (hasTrigger(automation, 'cron')) return;
  throw new AppError('invalid_request', 'Only an automation with a cron trigger can be run in this way.');
}
