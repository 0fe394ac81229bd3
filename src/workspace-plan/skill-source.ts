/** Where in git a skill of the catalog lies, as far as its address tells. */
export type SkillSource = {
  /** Of the repository; not yet held against what this service allows. */
  url: string;
  /** Null for the repository's own default branch. */
  branch: string | null;
  /** Null when the skill has to be found by its name. */
  folder: string | null;
};

type Options = {
  /** The catalog's own address: its pages name repositories, they are none. */
  catalogUrl: string;
  /** Where the repositories lie that the catalog knows as `owner/repository`. */
  repositoryHost: string;
};

/** Null when the address cannot lead to a repository. */
export function parseSkillSource(
  source: string,
  { catalogUrl, repositoryHost }: Options,
): SkillSource | null {
  const url = URL.parse(source);
  if (url === null) return null;
  const parts = partsOf(url.pathname);
  if (parts === null) return null;
  if (url.origin === new URL(catalogUrl).origin) {
    const [owner, repository] = parts;
    if (!owner || !repository) return null;
    return { url: `${repositoryHost}/${encode([owner, repository])}`, branch: null, folder: null };
  }
  const page = findPage(url.hostname, parts);
  if (page === null) return { url: source, branch: null, folder: null };
  const { repository, branch, path } = page;
  return { url: `${url.origin}/${encode(repository)}`, branch, folder: folderOf(path) };
}

type Page = { repository: string[]; branch: string; path: string[] };

/** Words that stand between a repository and a branch in the addresses of its pages. The first host that fits decides. */
const pageWords: [host: RegExp, words: string[][]][] = [
  [/^bitbucket\.org$/, [['src']]],
  [/./, [['-', 'tree'], ['-', 'blob'], ['tree'], ['blob'], ['src', 'branch']]],
];

/** A branch with a slash in its name cannot be told from a folder; it is taken for one part. */
function findPage(host: string, parts: readonly string[]): Page | null {
  const words = pageWords.find(([pattern]) => pattern.test(host))?.[1] ?? [];
  for (const word of words) {
    // An owner and a name come first; GitLab alone has deeper paths, and marks where they end.
    const at = word[0] === '-' ? parts.indexOf('-') : 2;
    const branch = parts[at + word.length];
    if (at < 2 || branch === undefined || !word.every((part, index) => parts[at + index] === part)) continue;
    return { repository: parts.slice(0, at), branch, path: parts.slice(at + word.length + 1) };
  }
  return null;
}

/** The page of a `SKILL.md` stands for its folder; the page of a branch names no folder. */
function folderOf(path: readonly string[]): string | null {
  if (path.length === 0) return null;
  return (path.at(-1) === 'SKILL.md' ? path.slice(0, -1) : path).join('/');
}

function partsOf(pathname: string): string[] | null {
  try {
    return pathname
      .split('/')
      .filter((part) => part !== '')
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}

function encode(parts: readonly string[]): string {
  return parts.map(encodeURIComponent).join('/');
}
