import { z } from 'zod';
import { catalogSkill, skillSlug, skillSource } from '../contract/skill.ts';

export type CatalogSkill = z.output<typeof catalogSkill>;

/**
 * Reads what a catalog answers: `{ skills: [...] }` or the list itself. Catalogs name their fields differently, so
 * the usual names are tried in turn. What cannot be enabled as a skill of an environment is left out. Null when there
 * is no list at all.
 */
export function parseCatalogAnswer(
  text: string,
  { catalogUrl }: { catalogUrl: string },
): CatalogSkill[] | null {
  const parsed = answer.safeParse(parseJson(text));
  if (!parsed.success) return null;
  const entries = Array.isArray(parsed.data) ? parsed.data : parsed.data.skills;
  return entries.map((entry) => readEntry(entry, catalogUrl)).filter((skill) => skill !== null);
}

const answer = z.union([z.array(z.unknown()), z.object({ skills: z.array(z.unknown()) })]);

const anyText = z.string().optional().catch(undefined);
const entryFields = z.object({
  name: anyText,
  title: anyText,
  slug: anyText,
  id: anyText,
  skillId: anyText,
  source: anyText,
  url: anyText,
  topSource: anyText,
  installs: z.coerce.number().int().min(0).catch(0),
});

function readEntry(entry: unknown, catalogUrl: string): CatalogSkill | null {
  const fields = entryFields.safeParse(entry);
  if (!fields.success) return null;
  const { name, title, slug, id, skillId, source, url, topSource, installs } = fields.data;
  const chosenSlug = slug ?? id ?? skillId;
  const skill = catalogSkill.safeParse({
    name: name ?? title ?? chosenSlug,
    slug: chosenSlug,
    source:
      [source, url, topSource].find(isSource) ??
      pageOf({ slug: chosenSlug, owner: source ?? topSource, catalogUrl }),
    installs,
  });
  return skill.success ? skill.data : null;
}

/**
 * Catalogs that give `owner/repository` in place of an address show a skill at their own address, under that path and
 * the skill's name; the slug may already hold both.
 */
function pageOf(given: {
  slug: string | undefined;
  owner: string | undefined;
  catalogUrl: string;
}): string | undefined {
  const { slug, owner, catalogUrl } = given;
  if (slug === undefined) return undefined;
  const isWhole = owner === undefined || slug.startsWith(`${owner}/`);
  const path = skillSlug.safeParse(isWhole ? slug : `${owner}/${slug}`);
  return path.success ? `${new URL(catalogUrl).origin}/${path.data}` : undefined;
}

function isSource(text: string | undefined): boolean {
  return skillSource.safeParse(text).success;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
