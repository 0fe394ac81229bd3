import { z } from 'zod';
import { id, label, success, text, time } from './common.ts';
import type { Operation } from './operation.ts';
import { repositorySummary } from './repository.ts';

const summary = {
  id,
  name: z.string(),
  description: z.string().nullable(),
  repositories: z.array(repositorySummary).describe('In the order they were given.'),
};
const repositorySetSummary = z.object(summary).meta({ id: 'RepositorySetSummary' });
const repositorySet = z
  .object({ ...summary, created_at: time, updated_at: time })
  .meta({ id: 'RepositorySet' });

const writable = {
  name: label(200),
  description: text(2_000).nullable().optional(),
  repository_ids: z
    .array(id)
    .min(1, 'must name at least 1 repository')
    .max(50, 'must name at most 50 repositories')
    .refine((ids) => new Set(ids).size === ids.length, { error: 'must not name a repository twice' }),
};
const params = z.object({ id });
const answer = z.object({ repository_set: repositorySet });
const tag = 'Repositories';

export const repositorySetOperations = {
  listRepositorySets: {
    method: 'GET',
    path: '/v1/repository-sets',
    tag,
    summary: 'List repository sets',
    access: 'member',
    answers: { 200: z.object({ repository_sets: z.array(repositorySet) }) },
  },
  createRepositorySet: {
    method: 'POST',
    path: '/v1/repository-sets',
    tag,
    summary: 'Make a set of repositories that are worked on together',
    access: 'admin',
    body: z.object(writable),
    answers: { 201: answer },
    errors: ['already_exists', 'not_found', 'limit_reached'],
  },
  getRepositorySet: {
    method: 'GET',
    path: '/v1/repository-sets/{id}',
    tag,
    summary: 'Read a repository set',
    access: 'member',
    params,
    answers: { 200: answer },
  },
  updateRepositorySet: {
    method: 'PATCH',
    path: '/v1/repository-sets/{id}',
    tag,
    summary: 'Change a repository set',
    description: 'Only the fields given change; `repository_ids` replaces the whole list.',
    access: 'admin',
    params,
    body: z.object(writable).partial(),
    answers: { 200: answer },
    errors: ['already_exists'],
  },
  deleteRepositorySet: {
    method: 'DELETE',
    path: '/v1/repository-sets/{id}',
    tag,
    summary: 'Delete a repository set',
    description: 'The repositories themselves stay connected.',
    access: 'admin',
    params,
    answers: { 200: success },
    errors: ['repository_in_use'],
  },
  listReplicaRepositorySets: {
    method: 'GET',
    path: '/v1/replica/repository-sets',
    tag,
    summary: 'List the repository sets available to the organization',
    access: 'member',
    answers: { 200: z.object({ repository_sets: z.array(repositorySetSummary) }) },
  },
} as const satisfies Record<string, Operation>;
