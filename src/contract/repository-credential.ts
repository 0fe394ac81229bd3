import { z } from 'zod';
import { id, label, success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

const credential = z
  .object({
    id,
    name: z.string(),
    kind: z.enum(['token', 'github_app']),
    username: z.string().describe('Of a GitHub App, its id.'),
    created_at: time,
  })
  .meta({ id: 'RepositoryCredential' });

const printable = (max: number) => text(max).regex(/^\P{Cc}*$/u, 'must not contain control characters');

const token = z.object({
  kind: z.literal('token').optional(),
  name: label(200),
  username: printable(255)
    .regex(/^[^:]+$/, 'must not be empty and must not contain a colon')
    .default('x-access-token')
    .describe('What the git host expects beside the token; GitHub and GitLab take the default.'),
  token: printable(8_192).min(1, 'must not be empty'),
});

const githubApp = z.object({
  kind: z.literal('github_app'),
  name: label(200),
  app_id: text(100)
    .regex(/^[A-Za-z0-9._-]+$/, 'must be the id of a GitHub App, or its client id')
    .describe('The id of the app, or its client id.'),
  private_key: text(16_384).describe('In PEM, as GitHub gives it.'),
});

const tag = 'Repositories';

export const repositoryCredentialOperations = {
  listRepositoryCredentials: {
    method: 'GET',
    path: '/v1/repository-credentials',
    tag,
    summary: 'List the credentials for repositories',
    description: 'Tokens and private keys are never shown.',
    access: 'member',
    answers: { 200: z.object({ credentials: z.array(credential) }) },
  },
  createRepositoryCredential: {
    method: 'POST',
    path: '/v1/repository-credentials',
    tag,
    summary: 'Store a credential to read repositories with',
    description:
      'A token is kept encrypted and sent to the hosts of the repositories that use it, as HTTP Basic. Of a GitHub App the private key is kept encrypted and sent to nobody; tokens that last an hour are made with it.',
    access: 'admin',
    body: z.discriminatedUnion('kind', [token, githubApp], {
      error: (issue) => (issue.code === 'invalid_union' ? 'must be token or github_app' : undefined),
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
