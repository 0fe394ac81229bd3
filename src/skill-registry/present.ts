import { parseGitUrl } from '../git/url.ts';
import type { RepositoryContent } from '../repository/service.ts';
import { htmlUrl } from '../repository/skills.ts';
import type { RegistrySkill } from './scan.ts';
import type { RegistryRow } from './service.ts';

const STILL_SCANNING = 'still scanning; read the registry again shortly';
const STILL_CHECKING = 'still reading the repository; ask again shortly';

export function presentRegistry(row: RegistryRow) {
  // The column is written by scans only, from values of this type.
  const skills = row.repo_skills as RegistrySkill[];
  const source = {
    idPrefix: row.id,
    repositoryId: row.repository_id ?? row.id,
    fullName: row.repository_full_name,
    url: row.url,
    branch: row.default_branch,
  };
  return {
    id: row.id,
    organization_id: row.organization_id,
    environment_id: row.environment_id,
    name: row.name,
    url: row.url,
    repository_full_name: row.repository_full_name,
    default_branch: row.default_branch,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    error: row.scanned_at ? row.error : STILL_SCANNING,
    repo_skills: skills.map((skill) => presentSkill(skill, source)),
  };
}

/** Everything the repositories bring along, and why some of it may be missing. */
export function presentRepoSkills(bound: readonly RepositoryContent[]) {
  const problems = bound.flatMap((repository) => {
    const problem = problemOf(repository);
    if (problem === null) return [];
    return bound.length === 1 ? problem : `${repository.name}: ${problem}`;
  });
  return {
    repo_skills: bound.flatMap((repository) => {
      const source = {
        idPrefix: repository.id,
        repositoryId: repository.id,
        // The URL was found good, private or not, when the repository was connected.
        fullName: parseGitUrl(repository.url, { allowPrivateTargets: true }).fullName,
        url: repository.url,
        branch: repository.default_branch,
      };
      return repository.skills.map((skill) => ({
        ...presentSkill(skill, source),
        framework: skill.framework,
        kind: skill.kind,
      }));
    }),
    error: problems.length > 0 ? problems.join(' ') : null,
  };
}

function problemOf(repository: RepositoryContent): string | null {
  if (repository.status === 'error') return repository.error;
  return repository.head_commit === null ? STILL_CHECKING : null;
}

type Source = {
  idPrefix: string;
  repositoryId: string;
  fullName: string;
  url: string;
  branch: string | null;
};

function presentSkill(skill: RegistrySkill, source: Source) {
  const branch = source.branch ?? 'HEAD';
  return {
    id: `${source.idPrefix}:${skill.path}`,
    repository_id: source.repositoryId,
    repository_full_name: source.fullName,
    branch,
    path: skill.path,
    name: skill.name,
    description: skill.description,
    html_url: htmlUrl({ repositoryUrl: source.url, branch, path: skill.path }),
  };
}
