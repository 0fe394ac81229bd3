import { z } from 'zod';
import { id, label, success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

/** The name is also the name of the repository's folder in a workspace. */
export const repositoryName = label(200).regex(
  /^(?!\.{1,2}$|-)[^/\\\p{Cc}]*$/u,
  'must be usable as a folder name: no slash, backslash or control character, no leading hyphen, not "." or ".."',
);

/** What everybody who runs work on a repository needs to know about it. */
export const repositorySummary = z
  .object({
    id,
    name: z.string(),
    url: z.string(),
    default_branch: z
      .string()
      .nullable()
      .describe("The branch work starts from; null until the first check has read the remote's own."),
  })
  .meta({ id: 'RepositorySummary' });

export const repository = z
  .object({
    id,
    name: z.string(),
    url: z.string(),
    default_branch: z.string().nullable(),
    credential_id: id.nullable(),
    status: z.enum(['checking', 'ready', 'error']).describe('What the last check by `git ls-remote` found.'),
    error: z.string().nullable().describe('Why the status is `error`.'),
    head_commit: z.string().nullable().describe('The commit that the last good check found on the branch.'),
    checked_at: time.nullable(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'Repository' });

const writable = {
  name: repositoryName
    .optional()
    .describe('Unique in the organization; by default the last part of the URL.'),
  default_branch: text(255).nullable().optional().describe("By default the branch of the remote's HEAD."),
  credential_id: id.nullable().optional().describe('The stored credential to read the repository with.'),
};
const params = z.object({ id });
const answer = z.object({ repository });
const tag = 'Repositories';

export const repositoryOperations = {
  listRepositories: {
    method: 'GET',
    path: '/v1/repositories',
    tag,
    summary: 'List repositories with the state of their check',
    access: 'member',
    answers: { 200: z.object({ repositories: z.array(repository) }) },
  },
  createRepository: {
    method: 'POST',
    path: '/v1/repositories',
    tag,
    summary: 'Connect a repository',
    description:
      'Answers at once with the status `checking`; the repository is checked by a real `git ls-remote` in the background.',
    access: 'admin',
    body: z.object({ ...writable, url: text(4_096).describe('https:// URL of a git repository') }),
    answers: { 201: answer },
    errors: ['already_exists', 'not_found', 'limit_reached'],
  },
  getRepository: {
    method: 'GET',
    path: '/v1/repositories/{id}',
    tag,
    summary: 'Read a repository',
    access: 'member',
    params,
    answers: { 200: answer },
  },
  updateRepository: {
    method: 'PATCH',
    path: '/v1/repositories/{id}',
    tag,
    summary: 'Change a repository',
    description:
      'Only the fields given change; null takes a branch or a credential away. Another branch or credential starts a new check.',
    access: 'admin',
    params,
    body: z.object(writable),
    answers: { 200: answer },
    errors: ['already_exists'],
  },
  deleteRepository: {
    method: 'DELETE',
    path: '/v1/repositories/{id}',
    tag,
    summary: 'Disconnect a repository',
    access: 'admin',
    params,
    answers: { 200: success },
    errors: ['repository_in_use'],
  },
  checkRepository: {
    method: 'POST',
    path: '/v1/repositories/{id}/check',
    tag,
    summary: 'Check a repository again now',
    description:
      'Answers when the check has ended, or after ten seconds with the status `checking` while it goes on.',
    access: 'admin',
    params,
    answers: { 200: answer },
  },
  listReplicaRepositories: {
    method: 'GET',
    path: '/v1/replica/repositories',
    tag,
    summary: 'List the repositories available to the organization',
    access: 'member',
    answers: { 200: z.object({ repositories: z.array(repositorySummary) }) },
  },
} as const satisfies Record<string, Operation>;
