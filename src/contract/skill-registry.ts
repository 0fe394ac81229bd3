import { z } from 'zod';
import { id, success, text, time } from './common.ts';
import { environmentId, environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';

const found = {
  id: z.string().describe('Stays the same from one reading of the repository to the next.'),
  repository_id: id,
  repository_full_name: z.string(),
  branch: z.string().describe('`HEAD` when the head of the repository is on no branch'),
  path: z.string().describe('The file in the repository that describes it; for a skill its `SKILL.md`'),
  name: z.string(),
  description: z.string().describe('Empty when it does not describe itself.'),
  html_url: z
    .string()
    .nullable()
    .describe(
      "Page of the git host that shows it; the repository's own address when the host's pages are not known.",
    ),
};

const registrySkill = z
  .object({
    ...found,
    repository_id: id.describe(
      "The connected repository with the registry's URL; the registry's own id when the organization has connected none.",
    ),
  })
  .meta({ id: 'RegistrySkill' });

const repoSkill = z
  .object({
    ...found,
    framework: z
      .enum(['claude', 'codex', 'cursor', 'agents'])
      .nullable()
      .describe('The agent whose folder it lies in, null for a skill outside of such a folder.'),
    kind: z.enum(['skill', 'agent', 'command', 'prompt', 'rule']),
  })
  .meta({ id: 'RepoSkill' });

const error = z.string().nullable().describe('Why the repository could not be read, null when it could.');

const registry = z
  .object({
    id,
    organization_id: id,
    environment_id: id,
    name: z.string(),
    url: z.string(),
    repository_full_name: z.string(),
    default_branch: z
      .string()
      .nullable()
      .describe('Null until the repository was read once, and when its head is on no branch.'),
    created_at: time,
    updated_at: time,
    error: error.describe(
      'Why the last scan failed, or that the first is not done; `repo_skills` then holds what the last good scan found.',
    ),
    repo_skills: z.array(registrySkill),
  })
  .meta({ id: 'SkillRegistry' });

export const skillRegistryOperations = {
  listSkillRegistries: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/skills-registries',
    tag: 'Skills',
    summary: 'List the skill registries of an environment',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ registries: z.array(registry) }) },
  },
  createSkillRegistry: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/skills-registries',
    tag: 'Skills',
    summary: 'Add a skill registry',
    description:
      'Takes the URL of a git repository; every folder in it with a `SKILL.md` is a skill. The credential of a ' +
      'connected repository with the same URL is used, otherwise none. Waits up to 10 s for the first scan.',
    access: 'member',
    params: environmentParams,
    body: z.object({ url: text(2_048).describe('Git URL, https') }),
    answers: { 200: z.object({ registry, repo_skills: z.array(registrySkill), error }) },
    errors: ['already_exists', 'limit_reached'],
  },
  deleteSkillRegistry: {
    method: 'DELETE',
    path: '/v1/environments/{environmentId}/skills-registries/{skillsRegistryId}',
    tag: 'Skills',
    summary: 'Remove a skill registry',
    access: 'member',
    params: z.object({ environmentId, skillsRegistryId: id }),
    answers: { 200: success },
  },
  listRepoSkills: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/repo-skills',
    tag: 'Skills',
    summary: 'List what the bound repositories bring along',
    description:
      "Skills, agents, commands, prompts and rule files on the default branch of the environment's repository, " +
      'or of each repository of its set. Empty for an unbound environment.',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ repo_skills: z.array(repoSkill), error }) },
  },
} as const satisfies Record<string, Operation>;
