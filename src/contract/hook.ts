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
const testBody = z.object({
  content: textOfBytes(65_536).refine((value) => value.trim() !== '', { error: 'must not be empty' }),
});
const persist = z
  .enum(['always', 'on_success'])
  .default('always')
  .describe('`on_success` keeps the hook only when the test ends with exit code 0.');
const testResult = z
  .object({
    exit_code: z.int().nullable(),
    output: z.string().describe('At most the first 100,000 characters.'),
    timed_out: z.boolean(),
  })
  .meta({ id: 'HookTest' });
const warmHook = hook.nullable();
const startHook = hook.nullable();

const testEvent = z
  .object({
    status: z.string().optional().describe('Of `progress`.'),
    message: z.string().optional().describe('Of `progress` and `error`.'),
    output: z.string().optional().describe('Of `output`: what the hook has written since the last one.'),
    exit_code: z.int().nullable().optional().describe('Of `complete`.'),
    timed_out: z.boolean().optional().describe('Of `complete`.'),
  })
  .meta({ id: 'HookTestEvent' });

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
  testWarmHook: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/warm-hooks/test',
    tag: 'Hooks',
    summary: 'Try a warm hook without saving it',
    description:
      'Runs in a sandbox of its own with the bound repositories; the sandbox goes when the test ends or the caller leaves.',
    access: 'member',
    params: environmentParams,
    body: testBody,
    answers: { 200: z.object({ test: testResult }) },
    errors: ['hook_test_failed'],
  },
  saveTestWarmHook: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/warm-hooks/save-test',
    tag: 'Hooks',
    summary: 'Save a warm hook and try it',
    access: 'member',
    params: environmentParams,
    body: testBody.extend({ persist }),
    answers: { 200: z.object({ warm_hook: warmHook, test: testResult }) },
    errors: ['hook_test_failed'],
  },
  streamWarmHookTest: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/warm-hooks/save-test/stream',
    tag: 'Hooks',
    summary: 'Save a warm hook, try it and follow the test',
    description: 'Events: `progress`, `output`, then `complete` or `error`. `mode: test_only` saves nothing.',
    access: 'member',
    params: environmentParams,
    body: testBody.extend({ mode: z.enum(['save_test', 'test_only']).default('save_test'), persist }),
    content: 'text/event-stream',
    answers: { 200: testEvent.extend({ warm_hook: warmHook.optional() }) },
  },
  testStartHook: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/start-hooks/test',
    tag: 'Hooks',
    summary: 'Try a start hook without saving it',
    access: 'member',
    params: environmentParams,
    body: testBody,
    answers: { 200: z.object({ test: testResult }) },
    errors: ['hook_test_failed'],
  },
  streamStartHookTest: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/start-hooks/test/stream',
    tag: 'Hooks',
    summary: 'Try a start hook and follow the test',
    description: 'Events: `progress`, `output`, then `complete` or `error`.',
    access: 'member',
    params: environmentParams,
    body: testBody,
    content: 'text/event-stream',
    answers: { 200: testEvent },
  },
} as const satisfies Record<string, Operation>;
