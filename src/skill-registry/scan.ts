import { GitError } from '../git/failure.ts';
import type { Git, GitTree } from '../git/git.ts';
import type { GitRemote } from '../git/remote.ts';
import { byteLength } from '../lib/text.ts';
import { describeSkill, findRegistrySkills, type SkillCandidate } from '../repository/skills.ts';

/** A skill as it is kept: what only the repository knows. The rest follows from the registry's row. */
export type RegistrySkill = { path: string; name: string; description: string };

/** What a scan found. An `error` is a sentence for the caller; after a reading it says what is missing. */
export type RegistryScan =
  | { outcome: 'read'; head: Head; skills: RegistrySkill[]; error: string | null }
  | { outcome: 'unchanged' }
  | { outcome: 'failed'; error: string };

/** Where the repository's own branch stands; the branch is null when the head is on none. */
export type Head = { branch: string | null; commit: string };

const MAX_SKILLS = 500;
/** Of all names, paths and descriptions together, since a list of registries shows them all. */
const MAX_LIST_BYTES = 524_288;
const MAX_SKILL_BYTES = 65_536;
const READERS = 4;
const LEFT_OUT =
  'The registry has more skills than this service keeps (500, or 512 KiB of names and descriptions); the others are left out.';
/** Far below the time after which the same registry is scanned anew. */
const SCAN_MS = 5 * 60_000;

/** Reads a registry's repository. Whatever is wrong with the repository or its host is a result, not an exception. */
export async function scanRegistry(options: {
  git: Pick<Git, 'tree'>;
  openRemote(): Promise<GitRemote>;
  /** Names a skill that is the repository as a whole. */
  name: string;
  /** Where the last scan found it; nothing is read again while it stands there. */
  lastHead: Head | null;
  signal: AbortSignal;
}): Promise<RegistryScan> {
  const { git, name, lastHead, signal } = options;
  const limit = AbortSignal.timeout(SCAN_MS);
  try {
    const remote = await options.openRemote();
    const tree = await git.tree(remote, { signal: AbortSignal.any([signal, limit]) });
    const head = { branch: tree.branch === 'HEAD' ? null : tree.branch, commit: tree.commit };
    if (head.commit === lastHead?.commit && head.branch === lastHead.branch) return { outcome: 'unchanged' };
    const found = findRegistrySkills(tree.entries, name);
    const skills = fitting(await describeAll(tree, found.slice(0, MAX_SKILLS)));
    return { outcome: 'read', head, skills, error: skills.length < found.length ? LEFT_OUT : null };
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted)
      return { outcome: 'failed', error: 'Reading the registry took longer than 5 minutes.' };
    if (error instanceof GitError) return { outcome: 'failed', error: error.message };
    throw error;
  }
}

/** As many from the start as fit into the list. */
function fitting(skills: RegistrySkill[]): RegistrySkill[] {
  let bytes = 0;
  const end = skills.findIndex((skill) => {
    bytes += byteLength(skill.path) + byteLength(skill.name) + byteLength(skill.description);
    return bytes > MAX_LIST_BYTES;
  });
  return end < 0 ? skills : skills.slice(0, end);
}

/** Each file costs a process of git, so that some are read side by side and never all. */
async function describeAll(tree: GitTree, candidates: SkillCandidate[]): Promise<RegistrySkill[]> {
  const skills: RegistrySkill[] = [];
  const waiting = [...candidates.entries()];
  const describeNext = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      skills[next[0]] = await describe(tree, next[1]);
  };
  try {
    await Promise.all(Array.from({ length: READERS }, describeNext));
  } finally {
    // After a failure the other readers find nothing left to do.
    waiting.length = 0;
  }
  return skills;
}

/** A file that is too large to be read keeps the name of its folder. */
async function describe(tree: GitTree, { path, name }: SkillCandidate): Promise<RegistrySkill> {
  try {
    const content = await tree.read(path, MAX_SKILL_BYTES);
    return { path, ...describeSkill(content.toString('utf8'), name) };
  } catch (error) {
    if (error instanceof GitError && error.kind === 'too_large') return { path, ...describeSkill('', name) };
    throw error;
  }
}
