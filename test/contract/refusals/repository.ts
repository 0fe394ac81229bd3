import { randomUUID } from 'node:crypto';
import type { gitHostOperations } from '../../../src/contract/git-host.ts';
import type { repositoryOperations } from '../../../src/contract/repository.ts';
import type { repositoryCredentialOperations } from '../../../src/contract/repository-credential.ts';
import type { repositorySetOperations } from '../../../src/contract/repository-set.ts';
import { fill } from '../fill.ts';
import { emptyOrganization, inFullOrganization } from '../full.ts';
import { again, type Refusals } from '../refusal.ts';

type Repositories = typeof repositoryOperations &
  typeof repositorySetOperations &
  typeof repositoryCredentialOperations &
  typeof gitHostOperations;

export const repositoryRefusals: Refusals<Repositories> = {
  createRepository: {
    already_exists: (f) => again(f, 'createRepository', { name: 'app' }),
    not_found: (f) => again(f, 'createRepository', { credential_id: randomUUID() }),
    limit_reached: (f) => inFullOrganization(f, 'repository', 'createRepository', { credential_id: null }),
  },
  updateRepository: {
    already_exists: async (f) => {
      const name = f.stage.unique('other');
      const id = await f.make('/v1/repositories', { name, url: await f.stage.repositoryUrl() });
      return { params: { id }, body: { name: 'app' } };
    },
  },
  setGitHost: {
    limit_reached: async (f) => {
      const { org } = await emptyOrganization(f);
      await fill(f.stage.world.pool, 'git_host', { organization_id: org.id });
      return { ...(await again(f, 'setGitHost', {})), by: org.call };
    },
  },
  deleteRepository: {
    repository_in_use: async (f) => ({ params: { id: f.repositoryId } }),
  },
  createRepositorySet: {
    already_exists: (f) => again(f, 'createRepositorySet', { name: 'all' }),
    not_found: (f) => again(f, 'createRepositorySet', { repository_ids: [f.repositoryId, randomUUID()] }),
    limit_reached: async (f) => {
      const { org } = await emptyOrganization(f);
      const connected = await org.call('POST', '/v1/repositories', { url: await f.stage.repositoryUrl() });
      await fill(f.stage.world.pool, 'repository_set', { organization_id: org.id });
      const body = { name: 'one more', repository_ids: [connected.body.repository.id] };
      return { body, by: org.call };
    },
  },
  updateRepositorySet: {
    already_exists: async (f) => {
      const body = { name: f.stage.unique('other'), repository_ids: [f.repositoryId] };
      return { params: { id: await f.make('/v1/repository-sets', body) }, body: { name: 'all' } };
    },
  },
  deleteRepositorySet: {
    repository_in_use: async (f) => {
      const name = f.stage.unique('bound');
      await f.make('/v1/environments', { name, repository_set_id: f.repositorySetId });
      return { params: { id: f.repositorySetId } };
    },
  },
  createRepositoryCredential: {
    already_exists: (f) => again(f, 'createRepositoryCredential', { name: 'token' }),
    limit_reached: (f) => inFullOrganization(f, 'repository_credential', 'createRepositoryCredential'),
  },
  deleteRepositoryCredential: {
    credential_in_use: async (f) => ({ params: { id: f.credentialId } }),
  },
};
