import { createHash } from 'node:crypto';
import type { GitTree } from '../git/git.ts';
import { describeSkill } from '../repository/skills.ts';
import { listed, quoted } from './listed.ts';
import { matchByFolder, matchByTitle, type SkillPick } from './match-skill.ts';
import { findSkillFolders, refuseFolder, type SkillFolder, skillLimits } from './skill-folder.ts';
import { slugOf } from './skill-slug.ts';

type SkillFile = { path: string; contentBase64: string };
export type ReadSkill = { slug: string; files: SkillFile[]; bytes: number };

/** What was read of a repository at one commit. */
export type SkillReading = {
  commit: string;
  skills: ReadSkill[];
  /** What is left out and why, in sentences. */
  problems: string[];
};

const MAX_SKILLS = 500;
/** Each file costs a process of git. */
const MAX_FILES = 2_000;
const MAX_TITLES = 200;
const MAX_PROBLEMS = 10;
const READERS = 4;

/** Every skill of a registry. `name` names a skill that is the repository as a whole. */
export async function readRegistrySkills(
  tree: GitTree,
  { name, origin }: { name: string; origin: string },
): Promise<SkillReading> {
  const found = findSkillFolders(tree.entries, name);
  const refused = found.flatMap((folder) => {
    const reason = refuseFolder(folder);
    return reason === null ? [] : [{ folder, reason }];
  });
  const refusedFolders = new Set(refused.map(({ folder }) => folder));
  const usable = found.filter((folder) => !refusedFolders.has(folder));
  const fitting = takeFitting(usable);
  const contents = await readFiles(tree, fitting);
  const problems = refused.map(
    ({ folder, reason }) => `Of ${origin}, ${quoted(shown(folder))} is left out: ${reason}.`,
  );
  if (fitting.length < usable.length) {
    const names = usable.slice(fitting.length).map(shown);
    problems.push(
      `Of ${origin}, ${listed(names)} is left out, because it holds more than a workspace takes.`,
    );
  }
  return {
    commit: tree.commit,
    skills: fitting.map((folder) => toSkill(slugFrom(folder, contents), folder, contents)),
    problems: capped(problems),
  };
}

/** The skills that were picked from the catalog, all of one repository. */
export async function readPickedSkills(
  tree: GitTree,
  { name, picks }: { name: string; picks: readonly SkillPick[] },
): Promise<SkillReading> {
  const found = findSkillFolders(tree.entries, name);
  const problems: string[] = [];
  const matched: { pick: SkillPick; folder: SkillFolder }[] = [];
  let titles: Map<SkillFolder, string> | null = null;
  for (const pick of picks) {
    let folder = matchByFolder(found, pick);
    if (folder === null && pick.folder === null) {
      titles ??= await readTitles(tree, found);
      folder = matchByTitle(found, pick, (one) => titles?.get(one) ?? '');
    }
    const reason = folder
      ? refuseFolder(folder)
      : 'its repository has no folder with a SKILL.md of that name';
    if (folder && reason === null) matched.push({ pick, folder });
    else problems.push(`The skill ${quoted(pick.name)} is left out: ${reason}.`);
  }
  const fitting = takeFitting(matched.map(({ folder }) => folder));
  const contents = await readFiles(tree, fitting);
  const read = matched.slice(0, fitting.length);
  for (const { pick } of matched.slice(fitting.length)) {
    problems.push(
      `The skill ${quoted(pick.name)} is left out, because the skills hold more than a workspace takes.`,
    );
  }
  return {
    commit: tree.commit,
    skills: read.map(({ pick, folder }) => toSkill(pick.slug, folder, contents)),
    problems: capped(problems),
  };
}

type Contents = ReadonlyMap<string, Buffer>;

/** As many from the start as are worth reading. */
function takeFitting(folders: readonly SkillFolder[]): SkillFolder[] {
  let [bytes, files] = [0, 0];
  const end = folders.findIndex((folder, index) => {
    bytes += folder.bytes;
    files += folder.files.length;
    return bytes > skillLimits.totalBytes || files > MAX_FILES || index >= MAX_SKILLS;
  });
  return end < 0 ? [...folders] : folders.slice(0, end);
}

function readFiles(tree: GitTree, folders: readonly SkillFolder[]): Promise<Contents> {
  return readPaths(tree, new Set(folders.flatMap(({ files }) => files.map(({ path }) => path))));
}

/** Some side by side and never all, since each is a process. */
async function readPaths(tree: GitTree, paths: Iterable<string>): Promise<Contents> {
  const contents = new Map<string, Buffer>();
  const waiting = [...paths];
  const readNext = async () => {
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      contents.set(path, await tree.read(path, skillLimits.bytes));
    }
  };
  try {
    await Promise.all(Array.from({ length: READERS }, readNext));
  } finally {
    // After a failure the other readers find nothing left to do.
    waiting.length = 0;
  }
  return contents;
}

async function readTitles(tree: GitTree, folders: readonly SkillFolder[]): Promise<Map<SkillFolder, string>> {
  const described = folders.filter((folder) => refuseFolder(folder) === null).slice(0, MAX_TITLES);
  const contents = await readPaths(tree, described.map(descriptionOf));
  return new Map(described.map((folder) => [folder, titleFrom(folder, contents)]));
}

function titleFrom(folder: SkillFolder, contents: Contents): string {
  return describeSkill(contents.get(descriptionOf(folder))?.toString() ?? '', folder.name).name;
}

/** A skill is known by the name it gives itself. One that no folder can have still needs something of its own. */
function slugFrom(folder: SkillFolder, contents: Contents): string {
  const named = slugOf(titleFrom(folder, contents)) || slugOf(folder.name);
  return named || `skill-${createHash('sha256').update(folder.folder).digest('hex').slice(0, 8)}`;
}

function toSkill(slug: string, { folder, files, bytes }: SkillFolder, contents: Contents): ReadSkill {
  const start = folder === '' ? 0 : folder.length + 1;
  return {
    slug,
    bytes,
    files: files.map(({ path }) => ({
      path: path.slice(start),
      contentBase64: contents.get(path)?.toString('base64') ?? '',
    })),
  };
}

function descriptionOf({ folder }: SkillFolder): string {
  return folder === '' ? 'SKILL.md' : `${folder}/SKILL.md`;
}

function shown({ folder, name }: SkillFolder): string {
  return folder || name;
}

function capped(problems: string[]): string[] {
  if (problems.length <= MAX_PROBLEMS) return problems;
  const more = problems.length - MAX_PROBLEMS;
  return [...problems.slice(0, MAX_PROBLEMS), `${more} more skills are left out.`];
}
