import { GitError } from '../git/failure.ts';
import type { Git, GitTree } from '../git/git.ts';
import type { GitRemote } from '../git/remote.ts';
import { describeSkill, findRegistrySkills, type SkillCandidate } from '../repository/skills.ts';

/** A skill as it is kept: what only the repository knows. The rest follows from the registry's row. */
export type RegistrySkill = { path: string; name: string; description: string };

/** What a scan found; with an `error` in words for the caller when something is missing. */
export type RegistryScan =
  | { ok: true; commit: string; branch: string | null; skills: RegistrySkill[]; error: string | null }
  | { ok: false; error: string };

const MAX_SKILLS = 500;
const MAX_SKILL_BYTES = 65_536;
const READERS = 4;
/** Far below the time after which the same registry is scanned anew. */
const SCAN_MS = 5 * 60_000;

/** Reads a registry's repository. Whatever is wrong with the repository or its host is a result, not an exception. */
export async function scanRegistry(options: {
  git: Pick<Git, 'tree'>;
  remote: GitRemote;
  /** Names a skill that is the repository as a whole. */
  name: string;
  signal: AbortSignal;
}): Promise<RegistryScan> {
  const { git, remote, name, signal } = options;
  const limit = AbortSignal.timeout(SCAN_MS);
  try {
    const tree = await git.tree(remote, { signal: AbortSignal.any([signal, limit]) });
    const found = findRegistrySkills(tree.entries, name);
    const skills = await describeAll(tree, found.slice(0, MAX_SKILLS));
    const error =
      found.length > MAX_SKILLS
        ? `The registry has more than ${MAX_SKILLS} skills; the others are left out.`
        : null;
    return {
      ok: true,
      commit: tree.commit,
      branch: tree.branch === 'HEAD' ? null : tree.branch,
      skills,
      error,
    };
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) return { ok: false, error: 'Reading the registry took longer than 5 minutes.' };
    if (error instanceof GitError) return { ok: false, error: error.message };
    throw error;
  }
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
