import { z } from 'zod';
import { id, label, success, textOfBytes, time } from './common.ts';
import { environmentId, environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';

const file = z
  .object({
    id,
    organization_id: id,
    environment_id: id,
    name: z.string(),
    path: z.string().describe('Where the file is placed, as `~/…`.'),
    content: z.string(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'EnvironmentFile' });

const name = label(255);
const path = textOfBytes(1_024).describe(
  'A file below the home directory of the workspace: `~/…` or `/home/replica/…`; kept as `~/…`.',
);
const content = textOfBytes(65_536).describe('At most 65,536 bytes of UTF-8.');
const params = z.object({ environmentId, id });
const answer = z.object({ environment_file: file });

export const environmentFileOperations = {
  listEnvironmentFiles: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/files',
    tag: 'Files',
    summary: 'List the files of an environment',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ environment_files: z.array(file) }) },
  },
  createEnvironmentFile: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/files',
    tag: 'Files',
    summary: 'Add a file',
    description: 'The file is placed at its path when a workspace is provisioned.',
    access: 'member',
    params: environmentParams,
    body: z.object({ name, path, content }),
    answers: { 201: answer },
    errors: ['already_exists', 'limit_reached'],
  },
  getEnvironmentFile: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/files/{id}',
    tag: 'Files',
    summary: 'Read a file',
    access: 'member',
    params,
    answers: { 200: answer },
  },
  updateEnvironmentFile: {
    method: 'PATCH',
    path: '/v1/environments/{environmentId}/files/{id}',
    tag: 'Files',
    summary: 'Change a file',
    description: 'Only the fields given change.',
    access: 'member',
    params,
    body: z.object({ name: name.optional(), path: path.optional(), content: content.optional() }),
    answers: { 200: answer },
    errors: ['already_exists', 'limit_reached'],
  },
  deleteEnvironmentFile: {
    method: 'DELETE',
    path: '/v1/environments/{environmentId}/files/{id}',
    tag: 'Files',
    summary: 'Remove a file',
    access: 'member',
    params,
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;
