import type { environmentFileOperations } from '../../../src/contract/environment-file.ts';
import type { mcpOperations } from '../../../src/contract/mcp.ts';
import type { skillOperations } from '../../../src/contract/skill.ts';
import type { skillRegistryOperations } from '../../../src/contract/skill-registry.ts';
import type { variableOperations } from '../../../src/contract/variable.ts';
import { exampleOf } from '../examples.ts';
import type { Fixture } from '../fixture.ts';
import { inFullEnvironment } from '../full.ts';
import { again, type Refusals } from '../refusal.ts';
import { catalogAway } from '../stage.ts';

type Attachments = typeof variableOperations &
  typeof environmentFileOperations &
  typeof skillOperations &
  typeof skillRegistryOperations &
  typeof mcpOperations;

export const attachmentRefusals: Refusals<Attachments> = {
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
};

/** A row that holds by itself what all rows of an environment may hold together. */
async function insertLarge(f: Fixture, environmentId: string, into: string): Promise<void> {
  const statement = `insert into ${into}, decode(repeat('00', 4194304), 'hex'), now(), now()`;
  await f.stage.world.pool.query(statement, [f.org.id, environmentId]);
}
