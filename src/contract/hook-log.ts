import { z } from 'zod';
import { id, time } from './common.ts';
import { preferHeader } from './message.ts';
import type { Operation } from './operation.ts';
import { replicaParams } from './replica.ts';

const hookLog = z.object({
  hookName: z.string(),
  output: z.string().describe('At most the first 100,000 characters.'),
  outputTruncated: z.boolean().describe('Whether there is more than `output` shows.'),
  outputTotalChars: z.int(),
  exitCode: z.int().nullable().describe('Null while it runs, and when it was ended from outside.'),
  timedOut: z.boolean(),
  executedAt: time.nullable(),
});

const warmHookLog = hookLog
  .extend({ hookType: z.enum(['global', 'environment', 'repository']), hookScript: z.string() })
  .meta({ id: 'WarmHookLog' });

const startHookLog = hookLog
  .extend({
    hookType: z.enum(['environment', 'repository']),
    repoName: z.string().nullable().describe('Of the hook of a repository.'),
    hookCommands: z.array(z.string()),
  })
  .meta({ id: 'StartHookLog' });

const ofLogs = {
  tag: 'Hooks',
  access: 'member',
  headers: z.object(preferHeader),
  errors: ['invalid_state'],
} as const;

export const hookLogOperations = {
  listHookLogs: {
    ...ofLogs,
    method: 'GET',
    path: '/v1/replica/{id}/hooks',
    summary: 'List what the hooks of a replica did',
    description:
      'Hooks that have begun, in the order in which they ran: at warm time, also in the workspace of the warm pool as which the replica began, and at every start. Of each list the latest 50. Answered without waking the replica.',
    params: replicaParams,
    answers: {
      200: z.object({
        warm_hooks: z.object({ logs: z.array(warmHookLog) }),
        start_hooks: z.object({ logs: z.array(startHookLog) }),
      }),
    },
  },
  getHookOutput: {
    ...ofLogs,
    method: 'GET',
    path: '/v1/replica/{id}/hooks/{index}/output',
    summary: 'Read the whole output of a hook',
    description:
      'As text, at most the first 16 MiB. `index` counts from 0 over `warm_hooks.logs` and then `start_hooks.logs` as the list has them. Of a hook that runs, what it has written so far.',
    params: z.object({ id, index: z.string().describe('A whole number from 0.') }),
    content: 'text/plain',
    answers: { 200: z.string() },
  },
} as const satisfies Record<string, Operation>;
