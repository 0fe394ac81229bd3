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
