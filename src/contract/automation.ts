import { z } from 'zod';
import { id, label, pageQuery, success, text, time } from './common.ts';
import { codingAgent } from './message.ts';
import type { Operation } from './operation.ts';
import { lifecyclePolicy, size, webhook, workspaceConfig } from './replica.ts';

export const githubTriggers = [
  'pull_request.opened',
  'pull_request.synchronize',
  'pull_request.merged',
  'pull_request.closed',
  'pull_request.command',
  'issues.opened',
  'issues.labeled',
  'issue_comment.created',
  'push',
] as const;
export const gitlabTriggers = [
  'merge_request.opened',
  'merge_request.updated',
  'merge_request.merged',
  'merge_request.closed',
  'issue.opened',
  'note.created',
  'push',
] as const;

/** What every trigger of a git host may say besides its event. */
const listening = {
  repository_ids: z
    .array(id)
    .min(1)
    .max(100)
    .optional()
    .describe('Only events of these; without it those of the environment, or all when it is bound to none.'),
  excluded_actors: z
    .array(label(255))
    .max(100)
    .optional()
    .describe('User names on the git host whose events do not count; their case does not matter.'),
  group_pr_events: z
    .boolean()
    .optional()
    .describe('Later events of a pull request that has a workspace go to it as a message.'),
};

const cronTrigger = z.object({
  type: z.literal('cron'),
  config: z.object({
    schedule: text(200).describe('Five fields: minute, hour, day of the month, month, day of the week.'),
    timezone: text(100).default('UTC').describe('A zone of the IANA database, such as `Europe/Berlin`.'),
    catch_up: z
      .enum(['latest', 'skip', 'all'])
      .optional()
      .describe('What becomes of runs that were missed while the service was down; default `latest`.'),
    jitter_seconds: z.int().min(0).max(3_600).optional().describe('Each run begins up to so much later.'),
    allow_overlap: z
      .boolean()
      .optional()
      .describe('Begin a run also while the one before is in work; otherwise it waits for its end.'),
  }),
});
const githubTrigger = z.object({
  type: z.literal('github'),
  config: z.object({
    event: z.enum(githubTriggers),
    ...listening,
    command: text(100)
      .regex(/^\/\S+$/, 'must be a slash and a word')
      .optional()
      .describe('Of `pull_request.command`: how a comment begins that starts a run; default `/replica`.'),
  }),
});
const gitlabTrigger = z.object({
  type: z.literal('gitlab'),
  config: z.object({ event: z.enum(gitlabTriggers), ...listening }),
});
const customTrigger = z.object({
  type: z.literal('custom'),
  config: z.object({}).default({}),
});
const trigger = z.discriminatedUnion('type', [cronTrigger, githubTrigger, gitlabTrigger, customTrigger]);
export type Trigger = z.output<typeof trigger>;
export type TriggerType = Trigger['type'];

const triggers = z
  .array(trigger)
  .min(1)
  .max(50)
  .refine((list) => list.filter(({ type }) => type === 'cron').length <= 1, {
    error: 'at most one cron trigger',
  })
  .refine((list) => list.filter(({ type }) => type === 'custom').length <= 1, {
    error: 'at most one custom trigger',
  })
  .refine((list) => new Set(list.map(eventOf)).size === list.length, {
    error: 'at most one trigger for each event',
  });

function eventOf({ type, config }: Trigger): string {
  return 'event' in config ? `${type} ${config.event}` : type;
}

const thinkingLevel = z.enum(['low', 'medium', 'high', 'max']);

const automation = z
  .object({
    id,
    organization_id: id,
    name: z.string(),
    description: z.string().nullable(),
    triggers: z.array(trigger.meta({ id: 'AutomationTrigger' })),
    prompt: z.string(),
    debounce_seconds: z.int().nullable(),
    environment_id: id,
    enabled: z.boolean(),
    disabled_reason: z.string().nullable().describe('Why the service has switched it off.'),
    webhook_token: z.string().optional().describe('Only with a custom trigger.'),
    has_webhook_secret: z.boolean(),
    webhook_url: z.string().nullable().describe('Where its workspaces tell what becomes of them.'),
    cron_expression: z.string().nullable(),
    cron_timezone: z.string().nullable(),
    cron_next_fire_at: time.nullable(),
    scope: z.enum(['org', 'user']),
    user_id: id.nullable().describe('The owner of a personal one.'),
    created_by: id.nullable(),
    workspace_lifecycle_policy: lifecyclePolicy,
    workspace_auto_stop_minutes: z.int().nullable(),
    workspace_size: size,
    config: workspaceConfig,
    agent_provider: codingAgent.nullable(),
    model: z.string().nullable(),
    thinking_level: thinkingLevel.nullable(),
    plan_mode: z.boolean(),
    goal_mode: z.boolean(),
    fast_mode: z.boolean(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Automation' });

const execution = z
  .object({
    id,
    automation_id: id,
    organization_id: id,
    workspace_id: id.nullable(),
    triggered_at: time,
    trigger_type: z.enum(['cron', 'github', 'gitlab', 'custom', 'manual']),
    trigger_payload: z.unknown(),
    status: z.enum(['pending', 'creating', 'running', 'completed', 'failed']),
    config: z.record(z.string(), z.unknown()),
    error: z.string().nullable(),
    completed_at: time.nullable(),
  })
  .meta({ id: 'AutomationExecution' });

/** What a creation and a change have in common; the latter takes each on its own. */
const fields = {
  name: label(200),
  description: text(10_000).nullable(),
  prompt: text(500_000).refine((value) => value.trim() !== '', { error: 'must not be empty' }),
  environment_id: id,
  triggers,
  enabled: z.boolean(),
  debounce_seconds: z.int().min(0).max(86_400).nullable(),
  workspace_lifecycle_policy: lifecyclePolicy,
  workspace_auto_stop_minutes: z.int().min(1).max(10_080).nullable(),
  workspace_size: size,
  config: workspaceConfig,
  agent_provider: codingAgent.nullable(),
  model: label(200).nullable(),
  thinking_level: thinkingLevel.nullable(),
  plan_mode: z.boolean(),
  goal_mode: z.boolean(),
  fast_mode: z.boolean(),
  webhook_url: webhook
    .nullable()
    .describe(
      'Given to its workspaces, which tell it what becomes of them; as at the creation of a replica.',
    ),
  webhook_secret: text(1_000)
    .nullable()
    .describe('Calls of the custom webhook must then be signed with it; never shown.'),
};

const created = z.object(fields).partial().required({
  name: true,
  prompt: true,
  environment_id: true,
  triggers: true,
});

const params = z.object({ id });
const tag = 'Automations';
const flag = z.enum(['true', 'false']);
const page = { total: z.int(), page: z.int(), limit: z.int(), totalPages: z.int() };

export const WEBHOOK_BODY_LIMIT = 262_144;

export const automationOperations = {
  listAutomations: {
    method: 'GET',
    path: '/v1/automations',
    tag,
    summary: 'List automations',
    description: 'Newest first. Personal automations are seen by their owners only.',
    access: 'member',
    query: z.object({
      ...pageQuery(20),
      scope: z
        .enum(['org', 'user', 'all'])
        .default('org')
        .describe('`user`: personal ones of the caller; `all`: those and the organization’s.'),
      enabled: flag.optional(),
      trigger_type: z.enum(['cron', 'github', 'gitlab', 'custom']).optional(),
      search: text(200).optional().describe('A part of the name or of the description, in any case.'),
    }),
    answers: { 200: z.object({ automations: z.array(automation), ...page }) },
    errors: ['forbidden'],
  },
  createAutomation: {
    method: 'POST',
    path: '/v1/automations',
    tag,
    summary: 'Create an automation',
    description: 'With `scope` `user` its workspaces belong to its owner; an org API key cannot create one.',
    access: 'member',
    body: created.extend({ scope: z.enum(['org', 'user']).default('org') }),
    answers: { 201: z.object({ automation }) },
    errors: ['forbidden', 'not_found', 'limit_reached'],
  },
  previewSchedule: {
    method: 'GET',
    path: '/v1/automations/schedule-preview',
    tag,
    summary: 'Read when a schedule fires next',
    access: 'member',
    query: z.object({ schedule: text(200), timezone: text(100).default('UTC') }),
    answers: { 200: z.object({ fires: z.array(time).describe('The next five, without jitter.') }) },
  },
  getAutomation: {
    method: 'GET',
    path: '/v1/automations/{id}',
    tag,
    summary: 'Read an automation',
    access: 'member',
    params,
    answers: { 200: z.object({ automation }) },
  },
  updateAutomation: {
    method: 'PATCH',
    path: '/v1/automations/{id}',
    tag,
    summary: 'Change an automation',
    description:
      'Only the fields given change. `null` clears `agent_provider`, `model` and `thinking_level`; another `agent_provider` without a `model` clears the model.',
    access: 'member',
    params,
    body: z.object(fields).partial(),
    answers: { 200: z.object({ automation }) },
  },
  deleteAutomation: {
    method: 'DELETE',
    path: '/v1/automations/{id}',
    tag,
    summary: 'Delete an automation and its execution history',
    access: 'member',
    params,
    answers: { 200: success },
  },
  triggerAutomation: {
    method: 'POST',
    path: '/v1/automations/{id}/trigger',
    tag,
    summary: 'Run an automation now',
    description:
      'Only one with a cron trigger; also one that is switched off, or whose last run is still in work. With `dry_run=true` nothing starts, and the prompt of any automation is shown as it would be if the body had triggered it. Otherwise the body is not looked at.',
    access: 'member',
    params,
    isRaw: true,
    bodyLimit: WEBHOOK_BODY_LIMIT,
    query: z.object({ dry_run: flag.optional() }),
    answers: {
      200: z.union([z.object({ execution_id: id, workspace_id: id }), z.object({ prompt: z.string() })]),
    },
  },
  listExecutions: {
    method: 'GET',
    path: '/v1/automations/{id}/executions',
    tag,
    summary: 'List the executions of an automation',
    description: 'Newest first. Kept for 90 days.',
    access: 'member',
    params,
    query: z.object(pageQuery(20)),
    answers: { 200: z.object({ executions: z.array(execution), ...page }) },
  },
} as const satisfies Record<string, Operation>;

export const customWebhookOperations = {
  fireAutomation: {
    method: 'POST',
    path: '/v1/automations/webhook/{token}',
    tag,
    summary: 'Run an automation by its own address',
    description: [
      'Knowing the token is the credential. The body, JSON or not, is put under `## Trigger Payload` at the end of the prompt.',
      'With a webhook secret, `X-Service-Signature` must be `sha256=` and the hex HMAC-SHA256 of the body. Calls that carry the same',
      '`X-Service-Delivery`, `webhook-id` or `Idempotency-Key` count once. While 1,000 runs of it wait to begin, calls get 429.',
    ].join(' '),
    access: 'anyone',
    params: z.object({ token: z.string().max(200) }),
    isRaw: true,
    bodyLimit: WEBHOOK_BODY_LIMIT,
    headers: z.object({
      'x-service-signature': z.string().max(200).optional(),
      'x-service-delivery': z.string().max(255).optional(),
      'webhook-id': z.string().max(255).optional(),
      'idempotency-key': z.string().max(255).optional(),
    }),
    answers: { 202: z.object({ accepted: z.literal(true) }) },
  },
} as const satisfies Record<string, Operation>;
