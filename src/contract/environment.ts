import { z } from 'zod';
import { id, label, success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

/** An environment's id, or the literal `global`. */
export const environmentId = z
  .union([z.literal('global'), id])
  .describe('UUID of an environment, or `global` for the Global environment');

/** The path parameter of everything that belongs to an environment. */
export const environmentParams = z.object({ environmentId });

export const environment = z
  .object({
    id,
    organization_id: id,
    user_id: z.null(),
    name: z.string(),
    description: z.string().nullable(),
    is_global: z.boolean(),
    repository_id: id.nullable(),
    repository_set_id: id.nullable(),
    system_prompt: z.string().nullable(),
    variable_count: z.int(),
    file_count: z.int(),
    skill_count: z.int(),
    mcp_count: z.int(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Environment' });

const writable = {
  name: label(200),
  description: text(2_000).nullable().optional(),
  repository_id: id.nullable().optional().describe('Binds the environment to one repository.'),
  repository_set_id: id.nullable().optional().describe('Binds the environment to a repository set.'),
  system_prompt: text(100_000).nullable().optional(),
};

const oneBinding = (body: { repository_id?: string | null; repository_set_id?: string | null }) =>
  !(body.repository_id && body.repository_set_id);
const oneBindingError = { error: 'repository_id and repository_set_id exclude each other; give one of them' };

const answer = z.object({ environment });

export const environmentOperations = {
  listEnvironments: {
    method: 'GET',
    path: '/v1/environments',
    tag: 'Environments',
    summary: 'List environments',
    description:
      'All environments of the organization, the Global one first, with counts of what is attached.',
    access: 'member',
    answers: { 200: z.object({ environments: z.array(environment) }) },
  },
  createEnvironment: {
    method: 'POST',
    path: '/v1/environments',
    tag: 'Environments',
    summary: 'Create an environment',
    description: 'Its warm pool is on from the start.',
    access: 'member',
    body: z.object(writable).refine(oneBinding, oneBindingError),
    answers: { 201: answer },
    errors: ['already_exists', 'not_found', 'limit_reached'],
  },
  getEnvironment: {
    method: 'GET',
    path: '/v1/environments/{environmentId}',
    tag: 'Environments',
    summary: 'Read an environment',
    access: 'member',
    params: environmentParams,
    answers: { 200: answer },
  },
  updateEnvironment: {
    method: 'PATCH',
    path: '/v1/environments/{environmentId}',
    tag: 'Environments',
    summary: 'Change an environment',
    description:
      'Only the fields given change. The binding cannot change while an automation uses the environment.',
    access: 'member',
    params: environmentParams,
    body: z.object({ ...writable, name: writable.name.optional() }).refine(oneBinding, oneBindingError),
    answers: { 200: answer },
    errors: ['global_environment_immutable', 'already_exists', 'environment_in_use'],
  },
  deleteEnvironment: {
    method: 'DELETE',
    path: '/v1/environments/{environmentId}',
    tag: 'Environments',
    summary: 'Delete an environment',
    access: 'member',
    params: environmentParams,
    answers: { 200: success },
    errors: ['environment_in_use', 'global_environment_undeletable'],
  },
} as const satisfies Record<string, Operation>;
