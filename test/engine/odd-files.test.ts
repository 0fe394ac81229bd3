import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { BootPlan } from '../../src/engine/protocol.ts';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { bootHook, bootPlan, createEngineFolder, type EngineFolder, ofType, until } from './engine-folder.ts';
import type { EventsGateway } from './events-gateway.ts';

let host: GitHost;
let folder: EngineFolder;
let gateway: EventsGateway;
beforeAll(async () => {
  host = await startGitHost();
  await host.createRepository('app', { 'README.md': 'hello\n', 'lib/a': 'a\n' });
});
afterAll(() => host.close());
beforeEach(async () => {
  folder = createEngineFolder();
  gateway = await folder.openGateway();
});
afterEach(() => folder.close());

/** A plan in which everything has a part. */
function wholePlan(): BootPlan {
  const repository = {
    id: randomUUID(),
    name: 'app',
    url: 'https://git.example/app.git',
    branch: null,
    restore: false,
  };
  gateway.git.set(repository.id, host.url('app'));
  const content = Buffer.from('# Review').toString('base64');
  return bootPlan({
    repositories: [repository],
    skills: [{ slug: 'review', files: [{ path: 'SKILL.md', contentBase64: content }] }],
    systemPrompt: 'Be brief.',
    hooks: [bootHook({ commands: ['git log -1 --format=%s; echo ran'] })],
  });
}

const finishedBoots = () => ofType(gateway.events, 'boot.finished');
const printed = () => ofType(gateway.events, 'hook.output').map(({ text }) => text);
const makeMess = (command: string) =>
  execFileSync('bash', ['-c', `cd "$HOME"; ${command}`], { env: { ...process.env, HOME: folder.home } });

/** Boots the workspace, has a command make a mess between two engines, boots it again; the warnings of that. */
async function bootAfter(command: string): Promise<string[]> {
  const plan = wholePlan();
  const first = await folder.start();
  expect(await first.boot(plan)).toBe('finished');
  await until(() => finishedBoots().length === 1, 'the first boot has finished');
  await first.kill();
  makeMess(command);
  const second = await folder.start({ incarnation: 2 });
  const hooks = plan.hooks.map((hook) => ({ ...hook, runId: randomUUID() }));
  expect(await second.boot({ ...plan, id: randomUUID(), hooks })).toBe('finished');
  await until(() => finishedBoots().length === 2, 'both boots have finished');
  expect(printed().join('')).toMatch(/ran\n.*\nran\n$/);
  return finishedBoots().at(-1)?.warnings as string[];
}

const prompt = () => readFileSync(path.join(folder.home, '.replica/system-prompt.md'), 'utf8');
const skill = () => readFileSync(path.join(folder.home, '.claude/skills/review/SKILL.md'), 'utf8');

test.each([
  ['~/.replica is a file', 'rm -rf .replica; echo x >.replica', '.replica was a file'],
  ['~/.replica is a link to /proc', 'rm -rf .replica; ln -s /proc .replica', '.replica was a link'],
  [
    'everything in it is a fifo',
    'cd .replica; rm -rf ./*; mkfifo engine canvas skills mcp.json',
    '.replica/engine was a fifo',
  ],
  [
    'a folder of it is a link',
    'mv .replica/skills s; ln -s ../s .replica/skills',
    '.replica/skills was a link',
  ],
  [
    'its files are folders',
    'cd .replica; for f in gitconfig mcp.json system-prompt.md installed-skills.json engine/bases.json; do rm -f $f; mkdir $f; done',
    '.replica/gitconfig was a folder',
  ],
  ['a file of it is huge', 'truncate -s 1T .replica/engine/bases.json', 'bases.json was too large'],
  [
    'its list of skills leads up',
    `echo '["..", ".", "/etc"]' >.replica/installed-skills.json`,
    'review was not installed: another one',
  ],
  [
    'its files are garbage',
    'for f in .replica/*.* .replica/engine/*.json; do echo null >$f; done',
    'review was not installed: another one',
  ],
  ['its folder of repositories is a file', 'rm -rf workspaces; echo x >workspaces', 'workspaces was a file'],
  ['a repository is a link', 'rm -rf workspaces/app; ln -s / workspaces/app', 'workspaces/app was no folder'],
  ['a repository is a file', 'rm -rf workspaces/app; echo x >workspaces/app', 'workspaces/app was no folder'],
  ['a repository is half gone', 'cd workspaces/app; rm -rf .git lib README.md; echo x >lib', null],
])('a workspace starts when %s', async (_what, command, warning) => {
  const warnings = await bootAfter(command);
  if (warning === null) expect(warnings).toEqual([]);
  else expect(warnings).toContainEqual(expect.stringContaining(warning));
  expect([prompt(), skill()]).toEqual(['Be brief.', '# Review']);
  expect(existsSync(path.join(folder.home, 'workspaces/app/.git/HEAD'))).toBe(true);
});

test('what somebody has put in the place of something is set aside whole', async () => {
  await bootAfter(
    'rm -rf .replica; mkdir kept; echo mine >kept/file; ln -s kept .replica; echo x >workspaces/x',
  );
  expect(readdirSync(path.join(folder.home, '.replica.aside-1'))).toEqual(['file']);
  expect(readdirSync(path.join(folder.home, 'kept'))).toEqual(['file']);
});
