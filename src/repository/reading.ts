import type { GitCredential } from '../git/environment.ts';
import { GitError } from '../git/failure.ts';
import type { Git, GitTree } from '../git/git.ts';
import { withRenewal } from '../git/with-renewal.ts';
import { isStorableText } from '../lib/text.ts';
import type { CheckResult } from './checks.ts';
import {
  ConfigurationError,
  configurationNames,
  maxConfigurationBytes,
  parseConfiguration,
  type RepositoryConfiguration,
} from './configuration.ts';
import { type ConfigurationFile, noConfiguration, type RepositorySkill } from './content-store.ts';
import { describeSkill, findRepoSkills, type SkillCandidate } from './skills.ts';
import type { RepositoryRow } from './store.ts';

type Subject = {
  git: Git;
  repository: RepositoryRow;
  openCredential: () => Promise<GitCredential | null>;
  signal: AbortSignal;
};

/** Each costs a process of git; what comes after these keeps the name that its path gives it. */
const MAX_DESCRIBED_SKILLS = 200;
const MAX_SKILL_BYTES = 65_536;
const READERS = 4;

/** Asks the git host where the branch stands, and reads the tree when it stands elsewhere than at the last check. */
export async function readRepository(subject: Subject): Promise<CheckResult> {
  const { git, repository, signal } = subject;
  const branch = repository.requested_branch ?? undefined;
  try {
    const opened = { url: repository.url, credential: await subject.openCredential() };
    const { remote, refs } = await withRenewal(opened, async (each) => ({
      remote: each,
      refs: await git.inspect(each, signal),
    }));
    const head = branch === undefined ? refs.headCommit : refs.branches.get(branch);
    const isSame =
      head === repository.head_commit && (branch ?? refs.defaultBranch) === repository.default_branch;
    if (head && isSame) return { outcome: 'unchanged' };
    const tree = await git.tree(remote, { ...(branch !== undefined && { branch }), signal });
    return {
      outcome: 'read',
      reading: {
        default_branch: tree.branch === 'HEAD' ? null : tree.branch,
        head_commit: tree.commit,
        configuration: await readConfiguration(tree),
        skills: await readSkills(tree, repository.name),
      },
    };
  } catch (error) {
    if (signal.aborted || !(error instanceof GitError)) throw error;
    return { outcome: 'failed', error: error.message, cause: error };
  }
}

/** A file that cannot be used is the concern of its authors; the repository itself is well. */
async function readConfiguration(tree: GitTree): Promise<ConfigurationFile> {
  const paths = new Set(tree.entries.map((entry) => entry.path));
  const path = configurationNames.find((name) => paths.has(name));
  if (path === undefined) return noConfiguration;
  try {
    const bytes = await tree.read(path, maxConfigurationBytes);
    return { ...requireStorable(path, parseConfiguration(path, decode(path, bytes))), path, error: null };
  } catch (error) {
    const sentence = describeProblem(error);
    if (sentence === null) throw error;
    return { ...noConfiguration, path, error: sentence };
  }
}

function decode(path: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new ConfigurationError(`${path} is not UTF-8 text.`, { cause });
  }
}

/** An escape in the file can make half a character, which the database does not take. */
function requireStorable(path: string, configuration: RepositoryConfiguration): RepositoryConfiguration {
  const { systemPrompt, warmHook, startHook } = configuration;
  const texts = [systemPrompt ?? '', ...(warmHook?.commands ?? []), ...(startHook?.commands ?? [])];
  if (texts.every(isStorableText)) return configuration;
  throw new ConfigurationError(`${path} contains text that is not valid Unicode.`);
}

/** Why a file of the tree is not read, in a sentence; null when git failed, which says nothing about the file. */
function describeProblem(error: unknown): string | null {
  if (error instanceof ConfigurationError) return error.message;
  const isAboutFile = error instanceof GitError && (error.kind === 'too_large' || error.kind === 'refused');
  return isAboutFile ? error.message : null;
}

async function readSkills(tree: GitTree, repositoryName: string): Promise<RepositorySkill[]> {
  const candidates = findRepoSkills(tree.entries, repositoryName);
  const skills: RepositorySkill[] = candidates.map((candidate) => ({ ...candidate, description: '' }));
  const waiting = skills.slice(0, MAX_DESCRIBED_SKILLS);
  const describeNext = async () => {
    for (let skill = waiting.shift(); skill; skill = waiting.shift()) {
      Object.assign(skill, await describe(tree, skill));
    }
  };
  await Promise.all(Array.from({ length: READERS }, describeNext));
  return skills;
}

async function describe(
  tree: GitTree,
  candidate: SkillCandidate,
): Promise<{ name: string; description: string }> {
  try {
    const bytes = await tree.read(candidate.path, MAX_SKILL_BYTES);
    return describeSkill(bytes.toString(), candidate.name);
  } catch (error) {
    if (describeProblem(error) === null) throw error;
    return { name: candidate.name, description: '' };
  }
}
