import { z } from 'zod';
import { success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

const gitHost = z
  .object({
    host: z.string(),
    kind: z.enum(['github', 'gitlab']),
    api_url: z.string(),
    has_webhook_secret: z.boolean(),
    updated_at: time,
  })
  .meta({ id: 'GitHost' });

const host = text(255)
  .toLowerCase()
  .regex(
    /^([a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?|[a-z0-9-]+:\d{1,5}|localhost)$/,
    'must be a host name as in the URL of a repository, with its port if any',
  );
/** It travels in a header as it is. */
const webhookSecret = text(255).regex(
  /^[\x21-\x7e]{8,}$/,
  'must be at least 8 characters of ASCII, without spaces',
);
const params = z.object({ host });
const tag = 'Repositories';

export const gitHostOperations = {
  listGitHosts: {
    method: 'GET',
    path: '/v1/organization/git-hosts',
    tag,
    summary: 'List the git hosts whose API is known',
    description: 'github.com and gitlab.com need none, except for their events.',
    access: 'member',
    answers: { 200: z.object({ git_hosts: z.array(gitHost) }) },
  },
  setGitHost: {
    method: 'PUT',
    path: '/v1/organization/git-hosts/{host}',
    tag,
    summary: 'Say what a git host is and where its API is',
    description:
      'For GitHub Enterprise and GitLab of your own, and for the secret of the events that a host sends. Tokens are those of the repositories.',
    access: 'admin',
    params,
    body: z.object({
      kind: z.enum(['github', 'gitlab']),
      api_url: text(2_048)
        .optional()
        .describe('Such as `https://git.example.com/api/v4`; github.com and gitlab.com need none.'),
      webhook_secret: webhookSecret
        .nullable()
        .optional()
        .describe(
          'What the host signs its events with, or sends along with them; never shown. Without it the present one stays, `null` removes it.',
        ),
    }),
    answers: { 200: z.object({ git_host: gitHost }) },
    errors: ['limit_reached'],
  },
  deleteGitHost: {
    method: 'DELETE',
    path: '/v1/organization/git-hosts/{host}',
    tag,
    summary: 'Forget a git host',
    access: 'admin',
    params,
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;
