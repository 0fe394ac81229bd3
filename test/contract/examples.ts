import type { z } from 'zod';
import type { Operation } from '../../src/contract/operation.ts';
import type { OperationName, Operations } from '../../src/contract/operations.ts';
import type { LooseCall, Who } from './call.ts';
import type { Fixture } from './fixture.ts';

type Part<O, P extends 'params' | 'query' | 'body'> =
  O extends Record<P, infer S extends z.ZodType> ? { [K in P]: z.input<S> } : unknown;

/** What a caller must send; a part that the operation has cannot be left out. */
export type Example<O extends Operation> = Part<O, 'params'> & Part<O, 'query'> & Part<O, 'body'>;

/** A call that succeeds, any number of times: what it creates has a new name, what it deletes is made for it. */
type Examples = {
  [K in OperationName]: (
    fixture: Fixture,
    as: Who,
  ) => Example<Operations[K]> | Promise<Example<Operations[K]>>;
};

/** The example of an operation whose name is only known at run time. */
export async function exampleOf(name: OperationName, fixture: Fixture, as: Who): Promise<LooseCall> {
  return (await examples[name](fixture, as)) as LooseCall;
}

const environmentOf = (f: Fixture) => ({ params: { environmentId: f.environmentId } });
const variable = (f: Fixture) => ({ key: f.stage.unique('KEY').replace('-', '_'), value: 'some value' });
const file = (f: Fixture) => ({ name: 'A file', path: `~/${f.stage.unique('file')}`, content: 'Text' });
const skill = (f: Fixture) => {
  const slug = f.stage.unique('acme/skill');
  return { name: 'A skill', slug, source: `https://catalog.example/${slug}` };
};
const mcp = (f: Fixture) => ({
  name: f.stage.unique('mcp'),
  transport: 'stdio' as const,
  config: { command: 'npx', args: ['-y', 'server'], env: { TOKEN: 'secret' } },
});
const invitation = (f: Fixture) => ({
  email: `${f.stage.unique('invited')}@example.com`,
  role: 'member' as const,
});
const own = (f: Fixture, path: string, body: unknown) =>
  f.make(`/v1/environments/${f.environmentId}/${path}`, body);
const ownRepository = async (f: Fixture) =>
  f.make('/v1/repositories', { name: f.stage.unique('r'), url: await f.stage.repositoryUrl() });
const repositorySet = (f: Fixture) => ({
  name: f.stage.unique('set'),
  description: 'Worked on together',
  repository_ids: [f.repositoryId],
});

export const examples: Examples = {
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

  listVariables: environmentOf,
  createVariable: (f) => ({ ...environmentOf(f), body: variable(f) }),
  updateVariable: (f) => ({
    params: { environmentId: f.environmentId, id: f.variableId },
    body: variable(f),
  }),
  deleteVariable: async (f) => ({
    params: { environmentId: f.environmentId, id: await own(f, 'variables', variable(f)) },
  }),

  listEnvironmentFiles: environmentOf,
  createEnvironmentFile: (f) => ({ ...environmentOf(f), body: file(f) }),
  getEnvironmentFile: (f) => ({ params: { environmentId: f.environmentId, id: f.fileId } }),
  updateEnvironmentFile: (f) => ({
    params: { environmentId: f.environmentId, id: f.fileId },
    body: file(f),
  }),
  deleteEnvironmentFile: async (f) => ({
    params: { environmentId: f.environmentId, id: await own(f, 'files', file(f)) },
  }),

  searchSkills: () => ({ query: { q: 'pdf' } }),
  listSkills: environmentOf,
  createSkill: (f) => ({ ...environmentOf(f), body: skill(f) }),
  deleteSkill: async (f) => ({
    params: { environmentId: f.environmentId, id: await own(f, 'skills', skill(f)) },
  }),

  listSkillRegistries: environmentOf,
  createSkillRegistry: async (f) => ({ ...environmentOf(f), body: { url: await f.stage.repositoryUrl() } }),
  deleteSkillRegistry: async (f) => {
    const skillsRegistryId = await own(f, 'skills-registries', { url: await f.stage.repositoryUrl() });
    return { params: { environmentId: f.environmentId, skillsRegistryId } };
  },
  listRepoSkills: environmentOf,

  listMcps: environmentOf,
  createMcp: (f) => ({ ...environmentOf(f), body: mcp(f) }),
  getMcp: (f) => ({ params: { environmentId: f.environmentId, id: f.mcpId } }),
  updateMcp: (f) => ({ params: { environmentId: f.environmentId, id: f.mcpId }, body: mcp(f) }),
  deleteMcp: async (f) => ({
    params: { environmentId: f.environmentId, id: await own(f, 'mcps', mcp(f)) },
  }),

  getWarmHook: environmentOf,
  saveWarmHook: (f) => ({ ...environmentOf(f), body: { content: f.stage.unique('make') } }),
  listWarmRepositoryHooks: environmentOf,
  getStartHook: environmentOf,
  saveStartHook: (f) => ({ ...environmentOf(f), body: { content: f.stage.unique('make start') } }),
  listStartRepositoryHooks: environmentOf,
  setWarmPool: (f) => ({ ...environmentOf(f), body: { enabled: true } }),

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

  listCodingAgents: () => ({}),
  getCodingAgent: () => ({ params: { agent: 'codex' } }),
  setCodingAgent: () => ({
    params: { agent: 'claude' },
    body: { api_key: 'sk-0123456789abcdef', base_url: 'https://models.example/v1' },
  }),
  deleteCodingAgent: () => ({ params: { agent: 'claude' } }),

  getCaller: () => ({}),
  createPersonalApiKey: (f) => ({ body: { name: f.stage.unique('key') } }),
  listPersonalApiKeys: () => ({ query: { page: 1, limit: 100 } }),
  deletePersonalApiKey: async (f, as) => ({
    params: { apiKeyId: await f.make('/v1/user/api-keys', { name: 'short-lived' }, as) },
  }),
  createOrgApiKey: (f) => ({ body: { name: f.stage.unique('key') } }),
  listOrgApiKeys: () => ({ query: {} }),
  deleteOrgApiKey: async (f) => ({
    params: { apiKeyId: await f.make('/v1/organization/api-keys', { name: 'short-lived' }, 'admin') },
  }),
  listMembers: () => ({ query: { page: '1' } }),
  updateMember: (f) => ({ params: { userId: f.member.id }, body: { role: 'member' } }),
  removeMember: async (f) => ({ params: { userId: (await f.stage.world.person(f.org, 'member')).id } }),
  createInvitation: (f) => ({ body: invitation(f) }),
  listInvitations: () => ({ query: {} }),
  deleteInvitation: async (f) => ({
    params: { invitationId: await f.make('/v1/organization/invitations', invitation(f), 'admin') },
  }),
  acceptInvitation: async (f) => {
    const invited = invitation(f);
    const invitationId = await f.make('/v1/organization/invitations', invited, 'admin');
    return {
      params: { invitationId },
      body: { email: invited.email, name: 'Somebody New', password: 'correct horse' },
    };
  },
};
