import { z } from 'zod';
import { id, success, text, textOfBytes, time } from './common.ts';
import { environmentId, environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';

const variable = z
  .object({
    id,
    organization_id: id,
    environment_id: id,
    key: z.string(),
    value: z.string(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'EnvironmentVariable' });

const key = text(255).regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must match ^[A-Za-z_][A-Za-z0-9_]*$');
const value = textOfBytes(65_536);
const params = z.object({ environmentId, id });
const answer = z.object({ environment_variable: variable });

export const variableOperations = {
  listVariables: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/variables',
    tag: 'Variables',
    summary: 'List the variables of an environment',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ environment_variables: z.array(variable) }) },
  },
  createVariable: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/variables',
    tag: 'Variables',
    summary: 'Add a variable',
    access: 'member',
    params: environmentParams,
    body: z.object({ key, value }),
    answers: { 201: answer },
    errors: ['already_exists', 'limit_reached'],
  },
  updateVariable: {
    method: 'PATCH',
    path: '/v1/environments/{environmentId}/variables/{id}',
    tag: 'Variables',
    summary: 'Change a variable',
    access: 'member',
    params,
    body: z.object({ key: key.optional(), value: value.optional() }),
    answers: { 200: answer },
    errors: ['already_exists', 'limit_reached'],
  },
  deleteVariable: {
    method: 'DELETE',
    path: '/v1/environments/{environmentId}/variables/{id}',
    tag: 'Variables',
    summary: 'Remove a variable',
    access: 'member',
    params,
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;
