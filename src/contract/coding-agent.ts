import { z } from 'zod';
import { success, text, time } from './common.ts';
import type { Operation } from './operation.ts';

export const codingAgentName = z.enum(['claude', 'codex', 'cursor', 'opencode']);

const codingAgent = z
  .object({
    agent: codingAgentName,
    configured: z.boolean(),
    api_key_hint: z.string().nullable().describe('The last four characters of a key that is long enough.'),
    base_url: z.string().nullable(),
    updated_at: time.nullable(),
  })
  .meta({ id: 'CodingAgent' });

const params = z.object({ agent: codingAgentName });
const answer = z.object({ coding_agent: codingAgent });

/** The key travels in an HTTP header, so it is made of what a header can carry. */
const apiKey = text(4_096).regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces');

export const codingAgentOperations = {
  listCodingAgents: {
    method: 'GET',
    path: '/v1/organization/coding-agents',
    tag: 'Coding agents',
    summary: 'List the coding agents with their settings',
    access: 'member',
    answers: { 200: z.object({ coding_agents: z.array(codingAgent) }) },
  },
  getCodingAgent: {
    method: 'GET',
    path: '/v1/organization/coding-agents/{agent}',
    tag: 'Coding agents',
    summary: 'Read the settings of a coding agent',
    description: 'The API key is never shown.',
    access: 'member',
    params,
    answers: { 200: answer },
  },
  setCodingAgent: {
    method: 'PUT',
    path: '/v1/organization/coding-agents/{agent}',
    tag: 'Coding agents',
    summary: 'Set the API key of a coding agent',
    description: 'Replaces the settings as a whole: without `base_url` the agent talks to its own provider.',
    access: 'admin',
    params,
    body: z.object({
      api_key: apiKey,
      base_url: text(2_048)
        .nullable()
        .optional()
        .describe('Address of the model API, when it is not the usual one.'),
    }),
    answers: { 200: answer },
  },
  deleteCodingAgent: {
    method: 'DELETE',
    path: '/v1/organization/coding-agents/{agent}',
    tag: 'Coding agents',
    summary: 'Remove the settings of a coding agent',
    access: 'admin',
    params,
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;
