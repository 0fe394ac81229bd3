import { z } from 'zod';
import { id, textOfBytes, time } from './common.ts';
import { environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';
import { warmPool } from './warm-pool.ts';

const hook = z
  .object({
    id,
    organization_id: id,
    environment_id: id,
    version: z.int().describe('Goes up by one with every save.'),
    content: z.string(),
    is_active: z.boolean(),
    created_at: time,
  })
  .meta({ id: 'Hook' });

const repositoryHooks = z
  .object({
    repository_hooks: z.array(
      z.object({
        repository_id: id,
        repository_name: z.string(),
        path: z.string().describe("The configuration file at the repository's root."),
        commands: z.array(z.string()),
        timeout: z.int().describe('Milliseconds'),
        separate: z.boolean().describe('False: the commands are one script with one shell and one timeout.'),
      }),
    ),
    error: z.string().nullable().describe('Why hooks of a repository could not be read.'),
  })
  .meta({ id: 'RepositoryHooks' });

const body = z.object({
  content: textOfBytes(65_536).describe('A shell script; empty clears the hook.'),
});
const warmHook = hook.nullable();
const startHook = hook.nullable();

export const hookOperations = {
  getWarmHook: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/warm-hooks',
    tag: 'Hooks',
    summary: 'Read the active warm hook and the warm pool',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ warm_hook: warmHook, warm_pool: warmPool.nullable() }) },
  },
  saveWarmHook: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/warm-hooks/save',
    tag: 'Hooks',
    summary: 'Save and activate a warm hook',
    description:
      'It is not tested. Workspaces that are already warm become stale. Empty content clears the hook.',
    access: 'member',
    params: environmentParams,
    body,
    answers: { 201: z.object({ warm_hook: warmHook }) },
  },
  listWarmRepositoryHooks: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/warm-hooks/repository-hooks',
    tag: 'Hooks',
    summary: 'List the warm hooks of the bound repositories',
    description:
      'As they stand in the configuration file of each repository, in the order in which they run.',
    access: 'member',
    params: environmentParams,
    answers: { 200: repositoryHooks },
  },
  getStartHook: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/start-hooks',
    tag: 'Hooks',
    summary: 'Read the active start hook',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ start_hook: startHook }) },
  },
  saveStartHook: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/start-hooks/save',
    tag: 'Hooks',
    summary: 'Save and activate a start hook',
    description: 'It is not tested. Empty content clears the hook.',
    access: 'member',
    params: environmentParams,
    body,
    answers: { 201: z.object({ start_hook: startHook }) },
  },
  listStartRepositoryHooks: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/start-hooks/repository-hooks',
    tag: 'Hooks',
    summary: 'List the start hooks of the bound repositories',
    description:
      'As they stand in the configuration file of each repository, in the order in which they run.',
    access: 'member',
    params: environmentParams,
    answers: { 200: repositoryHooks },
  },
} as const satisfies Record<string, Operation>;
