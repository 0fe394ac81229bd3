import type { SkillFolder } from './skill-folder.ts';
import { lastPart, slugOf } from './skill-slug.ts';

/** A skill of the catalog that is looked for in its repository. */
export type SkillPick = {
  slug: string;
  name: string;
  /** Where the catalog says it lies; null when it does not say. */
  folder: string | null;
};

/** The skill in the folder that is named, or else in a folder of the slug's name, the least deep one. */
export function matchByFolder(folders: readonly SkillFolder[], pick: SkillPick): SkillFolder | null {
  if (pick.folder !== null) return folders.find(({ folder }) => folder === pick.folder) ?? null;
  const wanted = slugOf(lastPart(pick.slug));
  const found = folders.filter(({ name }) => wanted !== '' && slugOf(name) === wanted);
  return found.sort((a, b) => depthOf(a) - depthOf(b))[0] ?? null;
}

/** The skill that calls itself like the one looked for; failing that, the only one there is. */
export function matchByTitle(
  folders: readonly SkillFolder[],
  pick: SkillPick,
  titleOf: (folder: SkillFolder) => string,
): SkillFolder | null {
  const wanted = [slugOf(lastPart(pick.slug)), slugOf(pick.name)].filter((slug) => slug !== '');
  const found = folders.find((folder) => wanted.includes(slugOf(titleOf(folder))));
  if (found) return found;
  return folders.length === 1 ? (folders[0] ?? null) : null;
}

function depthOf({ folder }: SkillFolder): number {
  return folder === '' ? 0 : folder.split('/').length;
}
