import { z } from 'zod';
import { id, label, success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

const credential = z
  .object({ id, name: z.string(), username: z.string(), created_at: time })
  .meta({ id: 'RepositoryCredential' });

const printable = (max: number) => text(max).regex(/^\P{Cc}*$/u, 'must not contain control characters');

const tag = 'Repositories';

export const repositoryCredentialOperations = {
  listRepositoryCredentials: {
    method: 'GET',
    path: '/v1/repository-credentials',
    tag,
    summary: 'List the credentials for repositories',
    description: 'Tokens are never shown.',
    access: 'member',
    answers: { 200: z.object({ credentials: z.array(credential) }) },
  },
  createRepositoryCredential: {
    method: 'POST',
    path: '/v1/repository-credentials',
    tag,
    summary: 'Store a credential to read repositories with',
    description:
      'The token is kept encrypted and sent to the hosts of the repositories that use it, as HTTP Basic.',
    access: 'admin',
    body: z.object({
      name: label(200),
      username: printable(255)
        .regex(/^[^:]+$/, 'must not be empty and must not contain a colon')
        .default('x-access-token')
        .describe('What the git host expects beside the token; GitHub and GitLab take the default.'),
      token: printable(8_192).min(1, 'must not be empty'),
    }),
    answers: { 201: z.object({ credential }) },
    errors: ['already_exists', 'limit_reached'],
  },
  deleteRepositoryCredential: {
    method: 'DELETE',
    path: '/v1/repository-credentials/{id}',
    tag,
    summary: 'Delete a credential',
    access: 'admin',
    params: z.object({ id }),
    answers: { 200: success },
    errors: ['credential_in_use'],
  },
} as const satisfies Record<string, Operation>;
