import { randomUUID } from 'node:crypto';
import type { OperationName, Operations } from '../../src/contract/operations.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ApiCall } from '../world/world.ts';
import type { LooseCall } from './call.ts';
import { exampleOf } from './examples.ts';
import { fill } from './fill.ts';
import type { Fixture } from './fixture.ts';
import { catalogAway } from './stage.ts';

/** A call that is refused; `by` when somebody else than the usual caller makes it. */
export type RefusedCall = LooseCall & { by?: ApiCall };
export type Refusal = (fixture: Fixture) => Promise<RefusedCall>;

type Declared<K extends OperationName> = Operations[K] extends { errors: readonly (infer E)[] }
  ? E & string
  : never;

/** A case for every error that an operation declares for itself; leaving one out does not compile. */
type Refusals = {
  [K in OperationName as [Declared<K>] extends [never] ? never : K]: Record<Declared<K>, Refusal>;
};

export const refusals: Refusals = {
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
  createVariable: {
    already_exists: (f) => again(f, 'createVariable', { key: 'COLOR' }),
    limit_reached: (f) => inFullEnvironment(f, 'environment_variable', 'createVariable'),
  },
  updateVariable: {
    limit_reached: async (f) => {
      const environmentId = await f.make('/v1/environments', { name: f.stage.unique('large') });
      const id = await f.make(`/v1/environments/${environmentId}/variables`, { key: 'A', value: '' });
      const names = 'id, organization_id, environment_id, key, value, created_at, updated_at';
      await insertLarge(
        f,
        environmentId,
        `environment_variable (${names}) select gen_random_uuid(), $1, $2, 'LARGE'`,
      );
      return { params: { environmentId, id }, body: { value: 'x' } };
    },
    already_exists: async (f) => {
      const id = await f.make(`/v1/environments/${f.environmentId}/variables`, {
        key: `V${Date.now()}`,
        value: '',
      });
      return { params: { environmentId: f.environmentId, id }, body: { key: 'COLOR' } };
    },
  },
  createEnvironmentFile: {
    already_exists: (f) => again(f, 'createEnvironmentFile', { path: '~/notes.md' }),
    limit_reached: (f) => inFullEnvironment(f, 'environment_file', 'createEnvironmentFile'),
  },
  updateEnvironmentFile: {
    limit_reached: async (f) => {
      const environmentId = await f.make('/v1/environments', { name: f.stage.unique('large') });
      const file = { name: 'a', path: '~/a', content: '' };
      const id = await f.make(`/v1/environments/${environmentId}/files`, file);
      const names = 'id, organization_id, environment_id, name, path, content, created_at, updated_at';
      await insertLarge(
        f,
        environmentId,
        `environment_file (${names}) select gen_random_uuid(), $1, $2, 'l', '~/l'`,
      );
      return { params: { environmentId, id }, body: { content: 'x' } };
    },
    already_exists: async (f) => {
      const path = `~/${f.stage.unique('other')}`;
      const id = await f.make(`/v1/environments/${f.environmentId}/files`, { name: 'o', path, content: '' });
      return { params: { environmentId: f.environmentId, id }, body: { path: '~/notes.md' } };
    },
  },
  searchSkills: {
    upstream_unavailable: async () => ({ query: { q: catalogAway } }),
  },
  createSkill: {
    already_exists: (f) => again(f, 'createSkill', { slug: 'acme/pdf' }),
    limit_reached: (f) => inFullEnvironment(f, 'environment_skill', 'createSkill'),
  },
  createSkillRegistry: {
    already_exists: async (f) => {
      const url = await f.stage.repositoryUrl();
      await f.make(`/v1/environments/${f.environmentId}/skills-registries`, { url });
      return { params: { environmentId: f.environmentId }, body: { url: `${url}/` } };
    },
    limit_reached: (f) => inFullEnvironment(f, 'skill_registry', 'createSkillRegistry'),
  },
  createMcp: {
    already_exists: (f) => again(f, 'createMcp', { name: 'files' }),
    limit_reached: (f) => inFullEnvironment(f, 'environment_mcp', 'createMcp'),
  },
  updateMcp: {
    already_exists: async (f) => {
      const { body, params } = await exampleOf('createMcp', f, 'org_key');
      const id = await f.make(`/v1/environments/${f.environmentId}/mcps`, body);
      return { params: { ...params, id }, body: { name: 'files' } };
    },
  },
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
  createPersonalApiKey: {
    limit_reached: async (f) => {
      const { org, admin } = await emptyOrganization(f);
      await fill(f.stage.world.pool, 'api_key', { organization_id: org.id, person_id: admin.id });
      return { body: { name: 'one more' }, by: admin.call };
    },
  },
  createOrgApiKey: {
    limit_reached: async (f) => {
      const { org, admin } = await emptyOrganization(f);
      await fill(f.stage.world.pool, 'api_key', { organization_id: org.id });
      return { body: { name: 'one more' }, by: admin.call };
    },
  },
  updateMember: {
    last_admin: async (f) => ({ params: { userId: f.admin.id }, body: { role: 'member' } }),
  },
  removeMember: {
    last_admin: async (f) => ({ params: { userId: f.admin.id } }),
  },
  createInvitation: {
    already_exists: async (f) => ({ body: { email: f.member.email } }),
    limit_reached: async (f) => {
      const { org, admin } = await emptyOrganization(f);
      await fill(f.stage.world.pool, 'invitation', { organization_id: org.id, inviter_id: admin.id });
      return { body: { email: 'one.more@example.com' }, by: admin.call };
    },
  },
  acceptInvitation: {
    already_exists: async (f) => {
      const { admin: known } = await emptyOrganization(f);
      const invitationId = await f.make('/v1/organization/invitations', { email: known.email }, 'admin');
      return {
        params: { invitationId },
        body: { email: known.email, name: 'Again', password: 'correct horse' },
      };
    },
  },
};

/** The example with some fields of its body changed. */
async function again(f: Fixture, name: OperationName, fields: object): Promise<RefusedCall> {
  const call = await exampleOf(name, f, 'org_key');
  return { ...call, body: { ...(call.body as object), ...fields } };
}

async function ownEnvironment(f: Fixture): Promise<{ environmentId: string }> {
  return { environmentId: await f.make('/v1/environments', { name: f.stage.unique('own') }) };
}

/** An environment that an automation uses; there is no operation yet that makes one. */
async function automated(f: Fixture): Promise<{ environmentId: string }> {
  const { environmentId } = await ownEnvironment(f);
  const at = new Date();
  await f.stage.world.db
    .insertInto('automation')
    .values({
      id: newId(),
      organization_id: f.org.id,
      environment_id: environmentId,
      name: 'nightly',
      created_at: at,
      updated_at: at,
    })
    .execute();
  return { environmentId };
}

async function inFullEnvironment(
  f: Fixture,
  table: Parameters<typeof fill>[1],
  name: OperationName,
): Promise<RefusedCall> {
  const { environmentId } = await ownEnvironment(f);
  await fill(f.stage.world.pool, table, { organization_id: f.org.id, environment_id: environmentId });
  return { ...(await exampleOf(name, f, 'org_key')), params: { environmentId } };
}

async function inFullOrganization(
  f: Fixture,
  table: Parameters<typeof fill>[1],
  name: OperationName,
  fields: object = {},
): Promise<RefusedCall> {
  const { org } = await emptyOrganization(f);
  await fill(f.stage.world.pool, table, { organization_id: org.id });
  const call = await again(f, name, { ...fields, repository_id: undefined });
  return { ...call, by: org.call };
}

async function emptyOrganization(f: Fixture) {
  const org = await f.stage.world.org(f.stage.unique('Organization'));
  return { org, admin: await f.stage.world.person(org, 'admin') };
}

/** A row that holds by itself what all rows of an environment may hold together. */
async function insertLarge(f: Fixture, environmentId: string, into: string): Promise<void> {
  const statement = `insert into ${into}, decode(repeat('00', 4194304), 'hex'), now(), now()`;
  await f.stage.world.pool.query(statement, [f.org.id, environmentId]);
}
