import { z } from 'zod';
import { success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

const gitHost = z
  .object({ host: z.string(), kind: z.enum(['github', 'gitlab']), api_url: z.string(), updated_at: time })
  .meta({ id: 'GitHost' });

const host = text(255)
  .toLowerCase()
  .regex(
    /^([a-z0-9-]+(\.[a-z0-9-]+)+(:\d{1,5})?|[a-z0-9-]+:\d{1,5}|localhost)$/,
    'must be a host name as in the URL of a repository, with its port if any',
  );
const params = z.object({ host });
const tag = 'Repositories';

export const gitHostOperations = {
  listGitHosts: {
    method: 'GET',
    path: '/v1/organization/git-hosts',
    tag,
    summary: 'List the git hosts whose API is known',
    description: 'github.com and gitlab.com need no setting.',
    access: 'member',
    answers: { 200: z.object({ git_hosts: z.array(gitHost) }) },
  },
  setGitHost: {
    method: 'PUT',
    path: '/v1/organization/git-hosts/{host}',
    tag,
    summary: 'Say what a git host is and where its API is',
    description: 'For GitHub Enterprise and GitLab of your own. Tokens are those of the repositories.',
    access: 'admin',
    params,
    body: z.object({
      kind: z.enum(['github', 'gitlab']),
      api_url: text(2_048).describe('Such as `https://git.example.com/api/v4`.'),
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
