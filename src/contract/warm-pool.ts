import { z } from 'zod';
import { id, time } from './common.ts';
import { environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';

export const warmPool = z
  .object({
    id,
    organization_id: id,
    environment_id: id,
    enabled: z.boolean(),
    target_size: z.int().describe('Ready workspaces the pool aims at; fixed by the operator.'),
    generation: z.int().describe('Goes up with every change of what is baked into a warm workspace.'),
    error_count: z.int(),
    next_retry_at: time.nullable(),
    last_error_at: time.nullable(),
    last_error_message: z.string().nullable(),
    last_failure_at: time.nullable(),
    last_failure_reason: z.string().nullable(),
    has_base_snapshot: z.boolean(),
    ready_count: z.int().describe('Ready workspaces of the present generation.'),
    stale_count: z.int().describe('Ready workspaces of an older generation.'),
    warming_count: z.int(),
    snapshotting_count: z.int(),
    updated_at: time,
  })
  .meta({ id: 'WarmPool' });

export const warmPoolOperations = {
  setWarmPool: {
    method: 'PUT',
    path: '/v1/environments/{environmentId}/warm-pools',
    tag: 'Warm pools',
    summary: 'Switch the warm pool of an environment on or off',
    description: 'Makes the pool when the environment has none. Its size is fixed by the operator.',
    access: 'member',
    params: environmentParams,
    body: z.object({ enabled: z.boolean() }),
    answers: { 200: z.object({ warm_pool: warmPool }) },
  },
} as const satisfies Record<string, Operation>;

const workspaceStatus = z.enum(['warming', 'snapshotting', 'ready', 'assigned', 'expired', 'failed']);

const warmPoolWorkspace = z
  .object({
    id,
    organization_id: id,
    warm_pool_config_id: id,
    sandbox_id: z.string().nullable(),
    status: workspaceStatus,
    generation: z.int(),
    error_message: z.string().nullable(),
    created_at: time,
  })
  .meta({ id: 'WarmPoolWorkspace' });

const workspaceEvent = z
  .object({
    output: z.string().optional().describe('Of `output`: what warm hooks have written since the last one.'),
    status: workspaceStatus.optional().describe('Of `status`, `complete` and `error`.'),
    message: z
      .string()
      .nullable()
      .optional()
      .describe('Of `error`, and of `complete` when there is a reason.'),
  })
  .meta({ id: 'WarmPoolWorkspaceEvent' });

export const warmWorkspaceOperations = {
  listWarmPoolWorkspaces: {
    method: 'GET',
    path: '/v1/warm-pools/{configId}/workspaces',
    tag: 'Warm pools',
    summary: 'List the latest workspaces of a warm pool',
    description: 'The 10 newest, whatever became of them, newest first.',
    access: 'member',
    params: z.object({ configId: id.describe('The id of the warm pool.') }),
    answers: { 200: z.object({ workspaces: z.array(warmPoolWorkspace) }) },
  },
  streamWarmPoolWorkspace: {
    method: 'GET',
    path: '/v1/warm-pool-workspaces/{workspaceId}/stream',
    tag: 'Warm pools',
    summary: 'Follow the preparation of a warm workspace',
    description:
      'Events: `status` with the present status and with every change of it; `output` with what its warm hooks write, from their beginning, while it is `warming`; at last `complete` when it is `ready`, `assigned` or `expired`, or `error` when it has `failed`. Then the stream ends.',
    access: 'member',
    params: z.object({ workspaceId: id }),
    content: 'text/event-stream',
    answers: { 200: workspaceEvent },
  },
} as const satisfies Record<string, Operation>;
