import { symlink } from 'node:fs/promises';
import { newId } from '../../src/lib/ids.ts';
import { createFakeDriver, type FakeDriver } from '../../src/runtime/fake/driver.ts';
import { loadHostId } from '../../src/sandbox/host.ts';
import { webhookTimes } from '../../src/webhook/times.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { startSkillCatalog } from '../world/skill-catalog.ts';
import { startWorld, until, type World } from '../world/world.ts';
import { isBusy } from './tables.ts';

/** What a search must ask for to find the catalog away. */
export const catalogAway = 'away';

/** A service with everything around it that its operations reach: a git host, and a stand-in for the skill catalog. */
export type Stage = {
  world: World;
  /** What makes sandboxes. */
  driver: FakeDriver;
  /** The host whose workers run here; they act for replicas that are on it. */
  hostId: string;
  /** Another host, which is there and does nothing: what is on it stays as it is. */
  quietHostId: string;
  /** Where webhooks may be sent. */
  receiverUrl: string;
  /** URL of a repository that nobody has named before; all of them have the same content. */
  repositoryUrl(): Promise<string>;
  /** A text that no other call has got. */
  unique(prefix: string): string;
  /** Waits until everything that requests have put in motion has come to its end. */
  settle(): Promise<void>;
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
    hooks: (response) => response.end(),
  });
  starting.defer(() => catalog.close());
  let driver: FakeDriver | null = null;
  const world = await startWorld({
    databaseUrl,
    replaced: {
      // What is sent to addresses that do not exist comes to its end soon.
      webhookTimes: { ...webhookTimes, backOffMs: [1, 1, 1] },
      openDriver: async ({ gatewayFolder }) => {
        driver = createFakeDriver({ gatewayFolder });
        return driver;
      },
    },
    environment: {
      // What waits on the quiet host is left alone.
      REPLICA_STALL_SECONDS: '86400',
      REPLICA_ALLOW_PRIVATE_TARGETS: 'true',
      REPLICA_SKILL_CATALOG_URL: catalog.url,
      ...environment,
    },
  });
  starting.defer(() => world.close());
  if (!driver) throw new Error('the service has opened no driver');

  const hostId = loadHostId(world.folder, newId);
  const quietHostId = newId();
  await world.db.insertInto('runtime_host').values({ id: quietHostId, seen_at: '9999-01-01' }).execute();
  let used = 0;
  const unique = (prefix: string) => `${prefix}-${++used}`;
  const everything = starting.move();
  return {
    world,
    driver,
    hostId,
    quietHostId,
    receiverUrl: new URL('/hooks', catalog.url).href,
    unique,
    settle: () => until(async () => !(await isBusy(world.pool, hostId)), { intervalMs: 5 }).then(() => {}),
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
