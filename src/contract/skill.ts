import { z } from 'zod';
import { id, label, success, text, textOfBytes, time } from './common.ts';
import { environmentId, environmentParams } from './environment.ts';
import type { Operation } from './operation.ts';

/** What names a skill, wherever it comes from: in a body, and in an answer of the catalog. */
export const skillName = label(200);

/** A slug may become a folder of a workspace, so no part of it is empty, `.` or `..`. */
export const skillSlug = text(255)
  .regex(
    /^[A-Za-z0-9._-]+(?:\/[A-Za-z0-9._-]+)*$/,
    'must consist of letters, digits, ".", "_" and "-", in parts separated by "/"',
  )
  .refine((slug) => !slug.split('/').some((part) => part === '.' || part === '..'), {
    error: 'must not contain "." or ".." as a part',
  });

export const skillSource = textOfBytes(2_048)
  .refine(isWebAddress, { error: 'must be an http:// or https:// URL without a user name or password' })
  .describe('http or https URL of the skill in the catalog');

const named = { name: skillName, slug: skillSlug, source: skillSource };

const skill = z
  .object({
    id,
    organization_id: id,
    environment_id: id,
    name: z.string(),
    slug: z.string(),
    source: z.string(),
    created_at: time,
    updated_at: time,
  })
  .meta({ id: 'EnvironmentSkill' });

export const catalogSkill = z
  .object({
    ...named,
    installs: z.int().min(0).describe('How often it was installed; 0 when the catalog does not say.'),
  })
  .meta({ id: 'CatalogSkill' });

export const skillOperations = {
  searchSkills: {
    method: 'GET',
    path: '/v1/environment-skills/search',
    tag: 'Skills',
    summary: 'Search the skill catalog',
    description: 'Asks the external catalog. What it answers can be given to "Enable a skill" as it is.',
    access: 'member',
    query: z.object({ q: label(200).describe('What to look for, 1 to 200 characters') }),
    answers: { 200: z.object({ skills: z.array(catalogSkill) }) },
    errors: ['upstream_unavailable'],
  },
  listSkills: {
    method: 'GET',
    path: '/v1/environments/{environmentId}/skills',
    tag: 'Skills',
    summary: 'List the skills of an environment',
    access: 'member',
    params: environmentParams,
    answers: { 200: z.object({ environment_skills: z.array(skill) }) },
  },
  createSkill: {
    method: 'POST',
    path: '/v1/environments/{environmentId}/skills',
    tag: 'Skills',
    summary: 'Enable a skill',
    description: 'A slug and a source can each be enabled once in an environment.',
    access: 'member',
    params: environmentParams,
    body: z.object(named),
    answers: { 201: z.object({ environment_skill: skill }) },
    errors: ['already_exists', 'limit_reached'],
  },
  deleteSkill: {
    method: 'DELETE',
    path: '/v1/environments/{environmentId}/skills/{id}',
    tag: 'Skills',
    summary: 'Disable a skill',
    access: 'member',
    params: z.object({ environmentId, id }),
    answers: { 200: success },
  },
} as const satisfies Record<string, Operation>;

function isWebAddress(text: string): boolean {
  if (/[\s\p{Cc}\\]/u.test(text)) return false;
  const url = URL.parse(text);
  if (!url || !/^https?:\/\//i.test(text)) return false;
  return url.username === '' && url.password === '';
}
