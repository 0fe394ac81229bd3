const MAX_SLUG_CHARACTERS = 64;

/** A skill's name as the name of a folder: lower case, words joined by hyphens; empty when nothing of it can be used. */
export function slugOf(name: string): string {
  return name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .slice(0, MAX_SLUG_CHARACTERS)
    .replace(/^[-._]+|[-._]+$/g, '');
}

/** Slugs of the catalog may name owner and repository before the skill. */
export function lastPart(slug: string): string {
  return slug.slice(slug.lastIndexOf('/') + 1);
}
