import type { environmentFileOperations } from '../../../src/contract/environment-file.ts';
import type { mcpOperations } from '../../../src/contract/mcp.ts';
import type { skillOperations } from '../../../src/contract/skill.ts';
import type { skillRegistryOperations } from '../../../src/contract/skill-registry.ts';
import type { variableOperations } from '../../../src/contract/variable.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';
import { environmentOf } from './environment.ts';

type Attachments = typeof variableOperations &
  typeof environmentFileOperations &
  typeof skillOperations &
  typeof skillRegistryOperations &
  typeof mcpOperations;

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
const own = (f: Fixture, path: string, body: unknown) =>
  f.make(`/v1/environments/${f.environmentId}/${path}`, body);

/** What hangs on an environment. */
export const attachmentExamples: Examples<Attachments> = {
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
};
