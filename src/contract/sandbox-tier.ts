import { z } from 'zod';
import type { Operation } from './operation.ts';
import { size } from './replica.ts';

const sandboxTier = z
  .object({
    size,
    is_default: z.boolean().describe("Whether it is the operator's, because the organization has set none."),
  })
  .meta({ id: 'SandboxTier' });

const path = '/v1/organization/sandbox-tier';
const tag = 'Replicas';
const answers = { 200: z.object({ sandbox_tier: sandboxTier }) };

export const sandboxTierOperations = {
  getSandboxTier: {
    method: 'GET',
    path,
    tag,
    summary: 'Read the size of replicas whose creator names none',
    access: 'member',
    answers,
  },
  setSandboxTier: {
    method: 'PUT',
    path,
    tag,
    summary: 'Set the size of replicas whose creator names none',
    description: [
      'It is also the size of warm workspaces and of sandboxes in which hooks are tried. Sandboxes that exist keep their',
      'size; warm workspaces are replaced. Replicas without a size of their own are billed at the same rate in every tier.',
    ].join(' '),
    access: 'admin',
    body: z.object({ size: size.nullable().describe("Null for the operator's default.") }),
    answers,
  },
} as const satisfies Record<string, Operation>;
