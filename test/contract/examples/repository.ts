import type { gitHostOperations } from '../../../src/contract/git-host.ts';
import type { repositoryOperations } from '../../../src/contract/repository.ts';
import type { repositoryCredentialOperations } from '../../../src/contract/repository-credential.ts';
import type { repositorySetOperations } from '../../../src/contract/repository-set.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';

type Repositories = typeof repositoryOperations &
  typeof repositorySetOperations &
  typeof repositoryCredentialOperations &
  typeof gitHostOperations;

const ownRepository = async (f: Fixture) =>
  f.make('/v1/repositories', { name: f.stage.unique('r'), url: await f.stage.repositoryUrl() });
const repositorySet = (f: Fixture) => ({
  name: f.stage.unique('set'),
  description: 'Worked on together',
  repository_ids: [f.repositoryId],
});

export const repositoryExamples: Examples<Repositories> = {
  listRepositories: () => ({}),
  createRepository: async (f) => ({
    body: {
      name: f.stage.unique('repository'),
      url: await f.stage.repositoryUrl(),
      default_branch: 'main',
      credential_id: f.credentialId,
    },
  }),
  getRepository: (f) => ({ params: { id: f.repositoryId } }),
  updateRepository: (f) => ({
    params: { id: f.repositoryId },
    body: { name: f.stage.unique('repository'), default_branch: 'main', credential_id: f.credentialId },
  }),
  deleteRepository: async (f) => ({ params: { id: await ownRepository(f) } }),
  checkRepository: (f) => ({ params: { id: f.repositoryId } }),
  listReplicaRepositories: () => ({}),
  listGitHosts: () => ({}),
  setGitHost: () => ({
    params: { host: 'git.example.com' },
    body: { kind: 'gitlab', api_url: 'https://git.example.com/api/v4' },
  }),
  deleteGitHost: () => ({ params: { host: 'git.example.com' } }),

  listRepositorySets: () => ({}),
  createRepositorySet: (f) => ({ body: repositorySet(f) }),
  getRepositorySet: (f) => ({ params: { id: f.repositorySetId } }),
  updateRepositorySet: (f) => ({ params: { id: f.repositorySetId }, body: repositorySet(f) }),
  deleteRepositorySet: async (f) => ({
    params: { id: await f.make('/v1/repository-sets', repositorySet(f)) },
  }),
  listReplicaRepositorySets: () => ({}),

  listRepositoryCredentials: () => ({}),
  createRepositoryCredential: (f) => ({
    body: { name: f.stage.unique('credential'), username: 'git', token: 'secret' },
  }),
  deleteRepositoryCredential: async (f) => ({
    params: {
      id: await f.make('/v1/repository-credentials', { name: f.stage.unique('credential'), token: 't' }),
    },
  }),
};
