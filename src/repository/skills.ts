import { parseBoundedYaml } from './bounded-yaml.ts';

/** What a repository offers to agents, found by the paths of its files alone. */
export type SkillCandidate = {
  /** The file that describes it; for a skill its `SKILL.md`. */
  path: string;
  kind: 'skill' | 'agent' | 'command' | 'prompt' | 'rule';
  /** The agent whose folder it lies in; null for a skill outside such a folder. */
  framework: SkillFramework | null;
  /** From the path, for files that do not name themselves. */
  name: string;
};

export type SkillFramework = 'claude' | 'codex' | 'cursor' | 'agents';

type Entry = { path: string; kind: string };

/** A repository may name any number of files; beyond this many the rest is left out. */
export const maxSkills = 1000;

/** Folders with a `SKILL.md`. `rootName` names a skill that is the repository as a whole. */
export function findRegistrySkills(entries: Entry[], rootName = 'skill'): SkillCandidate[] {
  return collect(entries, (path) => asSkill(path, rootName));
}

/** Folders with a `SKILL.md`, and agents, commands, prompts and rules in the folders of the known agents. */
export function findRepoSkills(entries: Entry[], rootName = 'skill'): SkillCandidate[] {
  return collect(entries, (path) => asSkill(path, rootName) ?? asAgentFile(path));
}

/** The name and description that a file gives itself in its front matter, or else what its text begins with. */
export function describeSkill(text: string, fallbackName: string): { name: string; description: string } {
  const { matter, body } = splitFrontMatter(text.slice(0, maxTextCharacters));
  const fields = readFields(matter);
  return {
    name: oneLine(fields.name, maxNameCharacters) || oneLine(fallbackName, maxNameCharacters),
    description:
      oneLine(fields.description, maxDescriptionCharacters) ||
      oneLine(firstParagraph(body), maxDescriptionCharacters),
  };
}

/** The page of a file at its git host; the repository's own address where the shape of such pages is not known. */
export function htmlUrl({
  repositoryUrl,
  branch,
  path,
}: {
  repositoryUrl: string;
  branch: string;
  path: string;
}): string {
  const base = repositoryUrl.replace(/\/+$/, '').replace(/\.git$/, '');
  const host = URL.parse(base)?.hostname ?? '';
  const shape = pageShapes.find(([pattern]) => pattern.test(host));
  if (shape === undefined) return base;
  const encode = (text: string) => text.split('/').map(encodeURIComponent).join('/');
  return `${base}${shape[1]}${encode(branch)}/${encode(path)}`;
}

const pageShapes: [RegExp, string][] = [
  [/(?:^|[.-])github(?:[.-]|$)/, '/blob/'],
  [/(?:^|[.-])gitlab(?:[.-]|$)/, '/-/blob/'],
  [/^bitbucket\.org$/, '/src/'],
  [/^codeberg\.org$|(?:^|[.-])(?:gitea|forgejo)(?:[.-]|$)/, '/src/branch/'],
];

const maxTextCharacters = 65_536;
const maxMatterCharacters = 16_384;
const maxNameCharacters = 200;
const maxDescriptionCharacters = 2000;

function collect(entries: Entry[], recognise: (path: string) => SkillCandidate | null): SkillCandidate[] {
  const found = entries.flatMap((entry) => (entry.kind === 'file' ? (recognise(entry.path) ?? []) : []));
  return found.sort((a, b) => (a.path < b.path ? -1 : 1)).slice(0, maxSkills);
}

function asSkill(path: string, rootName: string): SkillCandidate | null {
  const parts = path.split('/');
  if (parts.pop() !== 'SKILL.md') return null;
  return { path, kind: 'skill', framework: frameworkOf(parts), name: parts.at(-1) ?? rootName };
}

const frameworks: Record<string, SkillFramework> = {
  '.claude': 'claude',
  '.codex': 'codex',
  '.cursor': 'cursor',
  '.agents': 'agents',
};

const folderKinds: Record<string, SkillCandidate['kind']> = {
  agents: 'agent',
  commands: 'command',
  prompts: 'prompt',
  rules: 'rule',
};

/** `<anywhere>/.claude/commands/git/commit.md` is the command `git/commit`; `.claude/CLAUDE.md` is a rule. */
function asAgentFile(path: string): SkillCandidate | null {
  const parts = path.split('/');
  const at = parts.findLastIndex((part) => Object.hasOwn(frameworks, part));
  const framework = frameworkOf(parts.slice(0, -1));
  if (at < 0 || framework === null) return null;
  const inside = parts.slice(at + 1);
  const [first = '', ...rest] = inside;
  if (inside.length === 1) {
    return /^(?:CLAUDE|AGENTS)\.md$/.test(first)
      ? { path, kind: 'rule', framework, name: first.slice(0, -'.md'.length) }
      : null;
  }
  const kind = Object.hasOwn(folderKinds, first) ? folderKinds[first] : undefined;
  const file = rest.join('/');
  const isDescription = kind === 'agent' ? /\.(?:md|mdc|toml)$/ : /\.(?:md|mdc)$/;
  if (kind === undefined || !isDescription.test(file) || /(?:^|\/)readme\.md$/i.test(file)) return null;
  return { path, kind, framework, name: file.replace(/\.[a-z]+$/, '') };
}

function frameworkOf(folders: string[]): SkillFramework | null {
  const folder = folders.findLast((part) => Object.hasOwn(frameworks, part));
  return folder === undefined ? null : (frameworks[folder] ?? null);
}

function splitFrontMatter(text: string): { matter: string; body: string } {
  const match = /^\uFEFF?---[ \t]*\r?\n/.exec(text);
  if (match === null) return { matter: '', body: text };
  const rest = text.slice(match[0].length);
  const end = /^---[ \t]*\r?$/m.exec(rest);
  if (end === null || end.index > maxMatterCharacters) return { matter: '', body: '' };
  return { matter: rest.slice(0, end.index), body: rest.slice(end.index + end[0].length) };
}

type Fields = { name: string; description: string };

/** Much front matter in the wild is no valid YAML (`description: Use when: …`), so plain lines are read then. */
function readFields(matter: string): Fields {
  try {
    const value = parseBoundedYaml(matter, { maxTokens: 500, maxAliases: 0 });
    return { name: textField(value, 'name'), description: textField(value, 'description') };
  } catch {
    // What is wrong does not matter; the plain lines below are all there is.
  }
  return { name: lineField(matter, 'name'), description: lineField(matter, 'description') };
}

function textField(value: unknown, field: keyof Fields): string {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return '';
  const found = (value as Record<string, unknown>)[field];
  return typeof found === 'string' || typeof found === 'number' ? String(found) : '';
}

function lineField(matter: string, field: keyof Fields): string {
  const line = matter.split('\n').find((candidate) => candidate.startsWith(`${field}:`));
  return (
    line
      ?.slice(field.length + 1)
      .trim()
      .replace(/^(["'])(.*)\1$/, '$2') ?? ''
  );
}

/** White space is named one by one: `\s` also takes line ends, and then a file of empty lines costs its square. */
const headingLines = /^[ \t]*#.*$/gm;

function firstParagraph(body: string): string {
  const paragraphs = body
    .split(/\r?\n[ \t]*\r?\n/)
    .map((paragraph) => paragraph.replace(headingLines, '').trim());
  return paragraphs.find((paragraph) => paragraph !== '') ?? '';
}

function oneLine(text: string, maxCharacters: number): string {
  const line = text.replace(/[\s\p{Cc}\p{Cs}]+/gu, ' ').trim();
  return line.length <= maxCharacters ? line : `${line.slice(0, maxCharacters - 1).replace(/\p{Cs}$/u, '')}…`;
}
