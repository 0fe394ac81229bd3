import { randomUUID } from 'node:crypto';
import type { egressOperations } from '../../../src/contract/egress.ts';
import type { environmentOperations } from '../../../src/contract/environment.ts';
import type { Fixture } from '../fixture.ts';
import { inFullOrganization, ownEnvironment } from '../full.ts';
import type { Refusals } from '../refusal.ts';

export const environmentRefusals: Refusals<typeof environmentOperations & typeof egressOperations> = {
  createEnvironment: {
    already_exists: async () => ({ body: { name: 'web' } }),
    not_found: async () => ({ body: { name: 'another', repository_id: randomUUID() } }),
    limit_reached: (f) => inFullOrganization(f, 'environment', 'createEnvironment'),
  },
  updateEnvironment: {
    global_environment_immutable: async () => ({
      params: { environmentId: 'global' },
      body: { description: 'Mine' },
    }),
    already_exists: async (f) => ({ params: await ownEnvironment(f), body: { name: 'Global' } }),
    environment_in_use: async (f) => ({
      params: await automated(f),
      body: { repository_id: f.repositoryId },
    }),
  },
  deleteEnvironment: {
    environment_in_use: async (f) => ({ params: await automated(f) }),
    global_environment_undeletable: async () => ({ params: { environmentId: 'global' } }),
  },
};

/** An environment that an automation uses. */
async function automated(f: Fixture): Promise<{ environmentId: string }> {
  const { environmentId } = await ownEnvironment(f);
  await f.make('/v1/automations', {
    name: 'nightly',
    prompt: 'Say hello.',
    environment_id: environmentId,
    triggers: [{ type: 'custom' }],
  });
  return { environmentId };
}
