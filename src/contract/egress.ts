import { z } from 'zod';
import { text, time } from './common.ts';
import { environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';
import { replicaParams } from './replica.ts';

const mode = z
  .enum(['none', 'allowlist', 'open'])
  .describe('Nothing; the listed hosts; or every public host.');

const egressPolicy = z
  .object({
    mode: mode.nullable().describe('Null: what the operator has set.'),
    hosts: z
      .array(z.string())
      .describe(
        'Hosts besides those of the operator: `example.com`, `*.example.com`, with `:port` or without.',
      ),
    effective: z.object({ mode, hosts: z.array(z.string()) }).describe('What applies to workspaces.'),
  })
  .meta({ id: 'EgressPolicy' });

export const egressOperations = {
  getEgressPolicy: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/egress',
    tag: 'Environments',
    summary: 'Read what workspaces of an environment may reach',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ egress: egressPolicy }) },
  },
  setEgressPolicy: {
    method: 'PUT',
    path: '/v1/environments/{environmentId}/egress',
    tag: 'Environments',
    summary: 'Set what workspaces of an environment may reach',
    description: 'Applies at once, to running workspaces too. The bound repositories are always reachable.',
    access: 'member',
    params: environmentParams,
    body: z.object({ mode: mode.nullable(), hosts: z.array(text(300)).max(200).default([]) }),
    answers: { 200: z.object({ egress: egressPolicy }) },
  },
  listEgressContacts: {
    method: 'GET',
    path: '/v1/replica/{id}/egress',
    tag: 'Replicas',
    summary: 'List what a replica asked to reach',
    description: 'Allowed and refused, latest first, at most 500.',
    access: 'member',
    params: replicaParams,
    answers: {
      200: z.object({
        contacts: z.array(
          z.object({
            host: z.string(),
            port: z.int(),
            allowed: z.boolean(),
            reason: z.string().nullable(),
            count: z.int(),
            first_at: time,
            last_at: time,
          }),
        ),
      }),
    },
  },
} as const satisfies Record<string, Operation>;
