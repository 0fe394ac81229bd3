import { symlink } from 'node:fs/promises';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { startSkillCatalog } from '../world/skill-catalog.ts';
import { startWorld, type World } from '../world/world.ts';

/** What a search must ask for to find the catalog away. */
export const catalogAway = 'away';

/** A service with everything around it that its operations reach: a git host, and a stand-in for the skill catalog. */
export type Stage = {
  world: World;
  /** URL of a repository that nobody has named before; all of them have the same content. */
  repositoryUrl(): Promise<string>;
  /** A text that no other call has got. */
  unique(prefix: string): string;
  close(): Promise<void>;
};

export async function startStage(
  environment: Record<string, string> = {},
  databaseUrl?: string,
): Promise<Stage> {
  await using starting = new AsyncDisposableStack();
  const git = await startGitHost();
  starting.defer(() => git.close());
  await git.createRepository('origin', repositoryFiles);
  const catalog = await startSkillCatalog({
    'api/search': (response) => response.end(JSON.stringify({ skills: [catalogSkill] })),
    [catalogAway]: (response) => response.destroy(),
  });
  starting.defer(() => catalog.close());
  const world = await startWorld({
    databaseUrl,
    environment: {
      REPLICA_ALLOW_PRIVATE_TARGETS: 'true',
      REPLICA_SKILL_CATALOG_URL: catalog.url,
      ...environment,
    },
  });
  starting.defer(() => world.close());

  let used = 0;
  const unique = (prefix: string) => `${prefix}-${++used}`;
  const everything = starting.move();
  return {
    world,
    unique,
    repositoryUrl: () => linkRepository(git, unique('repository')),
    close: () => everything.disposeAsync(),
  };
}

const catalogSkill = {
  name: 'PDF',
  slug: 'acme/pdf',
  source: 'https://catalog.example/acme/pdf',
  installs: 7,
};

const repositoryFiles = {
  'replica.json': JSON.stringify({ warmHook: { commands: ['make'] }, startHook: { commands: ['true'] } }),
  'skills/pdf/SKILL.md': '---\nname: pdf\ndescription: Reads PDF files.\n---\n',
  '.claude/commands/review.md': 'Review the change.',
};

/** A link in the folder of the host is a repository with a URL of its own, without the cost of another one. */
async function linkRepository(git: GitHost, name: string): Promise<string> {
  await symlink(git.path('origin'), git.path(name));
  return git.fileUrl(name);
}
