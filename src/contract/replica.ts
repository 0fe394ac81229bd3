import { z } from 'zod';
import { id, isStorableJson, pageQuery, success, text, time } from './common.ts';
import { codingAgent, MESSAGE_BODY_LIMIT, messageOptions, messageText } from './message.ts';
import { dollars } from './model-usage.ts';
import type { Operation } from './operation.ts';

export const lifecyclePolicy = z.enum(['default', 'delete_when_done', 'delete_after_inactivity']);
export const size = z.enum(['small', 'large']);
const source = z.enum(['api', 'dashboard', 'slack', 'linear', 'github', 'gitlab', 'automation']);
const status = z.enum(['active', 'sleeping', 'archived', 'preparing', 'error']);

/** Unknown fields at every level are kept and returned. */
export const workspaceConfig = z
  .looseObject({
    capabilities: z.looseObject({ pr_followups: z.boolean().optional() }).optional(),
    preferences: z.looseObject({ keep_open_on_pr_merge: z.boolean().optional() }).optional(),
    provisioning_error: z.looseObject({ message: z.string().optional() }).optional(),
    model_budget_usd: dollars
      .optional()
      .describe('What the agents may spend on models to begin with; `model-budget` changes it.'),
  })
  .refine((config) => isStorableJson(config, 65_536), {
    error: 'must be at most 65,536 characters of JSON without NUL characters or lone surrogates',
  })
  .meta({ id: 'WorkspaceConfig' });

const webhookUrl = text(2_048).pipe(z.url({ protocol: /^https?$/ }));
export const webhook = z.union([
  webhookUrl,
  z.object({ url: webhookUrl, secret: text(1_000).optional() }).meta({ id: 'ReplicaWebhookConfig' }),
]);

const repositoryReference = z
  .object({ id, name: z.string(), url: z.string() })
  .meta({ id: 'RepositoryReference' });
const pullRequest = z
  .object({ repository: z.string(), number: z.int(), url: z.string() })
  .meta({ id: 'PullRequest' });

const replicaListItem = z.object({
  id,
  name: z.string(),
  status,
  source,
  created_at: time,
  last_activity_at: time.nullable(),
  repositories: z.array(repositoryReference),
  pull_requests: z.array(pullRequest),
});

const engine = z
  .object({ version: z.string(), uptimeSeconds: z.number(), incarnation: z.int() })
  .meta({ id: 'EngineDetails' });

const hookState = z.object({ status: z.string(), details: z.string().nullable() });

const agentState = z
  .object({ available: z.boolean(), auth_method: z.string().nullable() })
  .meta({ id: 'AgentState' });

const environmentDetails = z
  .object({
    engine_version: z.string().nullable(),
    files_uploaded: z.array(z.string()),
    env_vars_set: z.array(z.string()).describe('Names only.'),
    skills_installed: z.array(z.string()),
    integrations: z.object({
      github: z.boolean(),
      gitlab: z.boolean(),
      linear: z.boolean(),
      slack: z.boolean(),
      google: z.boolean(),
    }),
    coding_agents: z.object({
      claude: agentState,
      codex: agentState,
      cursor: agentState,
      opencode: agentState,
    }),
    hooks: z.object({
      global_warm_hook: hookState.nullable(),
      repositories: z.array(
        z.object({
          repository_name: z.string(),
          warm_hook: hookState.nullable(),
          start_hook: hookState.nullable(),
        }),
      ),
    }),
    warnings: z.array(z.string()).describe('What could not be set up as configured, and why.'),
    last_updated_at: time.nullable(),
  })
  .meta({ id: 'ReplicaEnvironment' });

const repositoryStatus = z
  .object({
    repository: z.string(),
    branch: z.string().nullable(),
    default_branch: z.string().nullable(),
    pr_urls: z.array(z.string()),
    start_hooks_completed: z.boolean(),
    git_diff: z
      .object({
        added: z.int(),
        removed: z.int(),
        full_diff: z.string().describe('Empty unless `include=diffs`.'),
      })
      .nullable(),
  })
  .meta({ id: 'RepositoryStatus' });

export const chat = z
  .object({
    id,
    provider: codingAgent,
    title: z.string().nullable(),
    created_at: time,
    updated_at: time,
    processing: z.boolean(),
    lastMessageText: z.string().nullable(),
  })
  .meta({ id: 'Chat' });

const replicaDetails = replicaListItem
  .extend({
    coding_agent: codingAgent.nullable(),
    repository_statuses: z.array(repositoryStatus),
    waking: z.boolean(),
    chats: z.array(chat),
    lastChatMessage: z.object({ text: z.string(), provider: codingAgent, at: time }).nullable(),
    config: workspaceConfig,
    lifecycle_policy: lifecyclePolicy,
    size: size.nullable(),
    environment_id: id.nullable(),
    environment: environmentDetails.nullable().optional(),
    engine: engine.nullable(),
  })
  .meta({ id: 'ReplicaDetails' });

const createdReplica = replicaListItem
  .extend({ engine: engine.nullable().optional() })
  .meta({ id: 'Replica' });

export const replicaParams = z.object({ id });

const flagQuery = z.enum(['true', 'false']).optional();

export const replicaOperations = {
  createReplica: {
    method: 'POST',
    path: '/v1/replica',
    tag: 'Replicas',
    summary: 'Create a replica',
    description:
      'Without `X-Service-Api-Version` the answer comes when the replica is active, or has failed. With `2026-05-17` it comes at once, and the replica is `preparing`. `repository_set_id` and `repository_ids` are deprecated: the first environment bound to them is used.',
    access: 'member',
    bodyLimit: MESSAGE_BODY_LIMIT,
    headers: z.object({
      'x-service-api-version': z.literal('2026-05-17', 'must be 2026-05-17 or absent').optional(),
    }),
    body: z.object({
      name: text(200).regex(/^\S+$/, 'must not be empty or contain white space'),
      message: messageText,
      environment_id: id.optional(),
      repository_set_id: id.optional(),
      repository_ids: z.array(id).min(1).max(100).optional(),
      coding_agent: codingAgent.default('claude'),
      ...messageOptions,
      lifecycle_policy: lifecyclePolicy.default('default'),
      config: workspaceConfig.optional(),
      webhook_url: webhook.optional(),
      size: size.optional().describe("The organization's sandbox tier when absent."),
    }),
    answers: { 201: z.object({ replica: createdReplica }) },
    errors: ['not_found'],
  },
  listReplicas: {
    method: 'GET',
    path: '/v1/replica',
    tag: 'Replicas',
    summary: 'List replicas',
    description: 'Newest first; archived ones by their last activity.',
    access: 'member',
    query: z.object({
      ...pageQuery(10),
      user_id: id.optional(),
      source: source.optional(),
      status: status.optional(),
    }),
    answers: {
      200: z.object({
        replicas: z.array(replicaListItem.meta({ id: 'ReplicaListItem' })),
        total: z.int(),
        page: z.int(),
        limit: z.int(),
        total_pages: z.int(),
      }),
    },
  },
  getReplica: {
    method: 'GET',
    path: '/v1/replica/{id}',
    tag: 'Replicas',
    summary: 'Read a replica',
    description:
      'Answered from what is kept outside the sandbox. A sleeping replica is woken, unless `wake=false`, and `waking` says so.',
    access: 'member',
    params: replicaParams,
    query: z.object({
      include: z
        .string()
        .max(100)
        .optional()
        .transform((list) =>
          (list ?? '')
            .split(',')
            .map((part) => part.trim())
            .filter(Boolean),
        )
        .pipe(z.array(z.enum(['environment', 'diffs'], 'must be a comma list of environment, diffs')))
        .describe('Comma list of `environment`, `diffs`'),
      wake: flagQuery,
    }),
    answers: { 200: z.object({ replica: replicaDetails }) },
  },
  deleteReplica: {
    method: 'DELETE',
    path: '/v1/replica/{id}',
    tag: 'Replicas',
    summary: 'Delete a replica',
    description: 'Works in every state, and again on a replica that is already deleted.',
    access: 'member',
    params: replicaParams,
    answers: { 200: success },
  },
  wakeReplica: {
    method: 'POST',
    path: '/v1/replica/{id}/wake',
    tag: 'Replicas',
    summary: 'Wake a replica',
    access: 'member',
    params: replicaParams,
    answers: {
      200: z.object({ success: z.boolean(), waking: z.literal(false) }),
      202: z.object({ success: z.boolean(), waking: z.literal(true) }),
    },
    errors: ['invalid_state'],
  },
  sleepReplica: {
    method: 'POST',
    path: '/v1/workspaces/{id}/sleep',
    tag: 'Replicas',
    summary: 'Put a replica to sleep',
    description: 'A running turn is ended. Nothing happens when it sleeps already.',
    access: 'member',
    params: replicaParams,
    answers: { 200: success },
    errors: ['invalid_state'],
  },
  archiveReplica: {
    method: 'POST',
    path: '/v1/workspaces/{id}/archive',
    tag: 'Replicas',
    summary: 'Archive a replica',
    description: 'It sleeps until it is woken and is not deleted for its age.',
    access: 'member',
    params: replicaParams,
    answers: { 200: success },
    errors: ['invalid_state'],
  },
  getReplicaTimeline: {
    method: 'GET',
    path: '/v1/replica/{id}/timeline',
    tag: 'Replicas',
    summary: 'Read what was done for a replica and how long it took',
    access: 'member',
    params: replicaParams,
    answers: {
      200: z.object({
        start: z
          .object({
            kind: z.string().describe('warm, layer, cold, resumed or rebuilt'),
            reason: z.string().nullable(),
          })
          .nullable(),
        steps: z.array(
          z.object({
            incarnation: z.int(),
            step: z.string(),
            started_at: time,
            duration_ms: z.number(),
            outcome: z.enum(['done', 'skipped', 'failed']),
            detail: z.string().nullable(),
          }),
        ),
      }),
    },
  },
} as const satisfies Record<string, Operation>;
