import type { egressOperations } from '../../../src/contract/egress.ts';
import type { environmentOperations } from '../../../src/contract/environment.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';

export const environmentOf = (f: Fixture) => ({ params: { environmentId: f.environmentId } });

export const environmentExamples: Examples<typeof environmentOperations & typeof egressOperations> = {
  listEnvironments: () => ({}),
  createEnvironment: (f) => ({
    body: {
      name: f.stage.unique('environment'),
      description: 'For the web',
      repository_id: f.repositoryId,
      system_prompt: 'Be brief.',
    },
  }),
  getEnvironment: environmentOf,
  updateEnvironment: (f) => ({
    ...environmentOf(f),
    body: { name: f.stage.unique('environment'), description: null, repository_id: f.repositoryId },
  }),
  deleteEnvironment: async (f) => ({
    params: { environmentId: await f.make('/v1/environments', { name: f.stage.unique('environment') }) },
  }),

  getEgressPolicy: environmentOf,
  setEgressPolicy: (f) => ({
    ...environmentOf(f),
    body: { mode: 'allowlist', hosts: ['*.example.com', 'example.org:8443'] },
  }),
  listEgressContacts: (f) => ({ params: { id: f.replicaId } }),
};
