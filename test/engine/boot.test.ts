import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import {
  bootHook,
  bootPlan,
  createEngineFolder,
  type EngineFolder,
  ofType,
  type RunningEngine,
  until,
} from './engine-folder.ts';
import type { EventsGateway } from './events-gateway.ts';

let host: GitHost;
let folder: EngineFolder;
let gateway: EventsGateway;
let engine: RunningEngine;
beforeAll(async () => {
  host = await startGitHost();
  await host.createRepository('app', { 'README.md': 'hello\n' });
  await host.createRepository('closed', { 'a.txt': 'a\n' }, { auth: { username: 'u', password: 'p' } });
});
afterAll(() => host.close());
beforeEach(async () => {
  folder = createEngineFolder();
  gateway = await folder.openGateway();
  engine = await folder.start();
});
afterEach(() => folder.close());

function bind(name: string, branch: string | null = null) {
  const repository = {
    id: randomUUID(),
    name,
    url: `https://git.example/team/${name}.git`,
    branch,
    restore: false,
  };
  gateway.git.set(repository.id, host.url(name));
  return repository;
}
const file = (target: string, text: string) => ({
  path: target,
  contentBase64: Buffer.from(text).toString('base64'),
});
const inHome = (target: string) => path.join(folder.home, target);
const read = (target: string) => readFileSync(inHome(target), 'utf8');
const last = async (type: string) => {
  await until(() => ofType(gateway.events, type).length > 0, `${type} has come`);
  return ofType(gateway.events, type).at(-1);
};

test('a whole plan makes a whole workspace', async () => {
  const hook = bootHook({
    commands: [
      'git log -1 --format="%an <%ae>"; git commit -q --allow-empty -m x; git log -1 --format="%an <%ae>"; git push -q origin HEAD:pushed; cat .env',
    ],
  });
  const plan = bootPlan({
    repositories: [bind('app')],
    files: [file('~/.npmrc', 'token'), file('~/workspaces/app/.env', 'KEY=1\n')],
    variables: { SECRET_TOKEN: 'hush-hush' },
    skills: [{ slug: 'review', files: [file('SKILL.md', '# Review')] }],
    mcpServers: { docs: { transport: 'http', url: 'https://mcp.example', headers: { authorization: 'x' } } },
    systemPrompt: 'Be brief.',
    hooks: [hook],
  });
  expect(await engine.boot(plan)).toBe('finished');
  const finished = await last('boot.finished');
  expect(finished).toMatchObject({
    bootId: plan.id,
    filesWritten: ['~/.npmrc', '~/workspaces/app/.env'],
    variablesSet: ['SECRET_TOKEN'],
    skillsInstalled: ['review'],
    warnings: [],
  });
  expect(await last('repositories.changed')).toMatchObject({
    repositories: [{ id: plan.repositories[0]?.id, branch: 'main' }],
  });
  const output = ofType(gateway.events, 'hook.output')
    .map(({ text }) => text)
    .join('');
  expect(output).toMatch(/\nAda <ada@example\.com>\nKEY=1\n$/);
  expect(await host.git('app', ['rev-parse', '--verify', 'pushed'])).toMatch(/^[0-9a-f]{40}$/);
  expect([read('workspaces/app/README.md'), read('.npmrc')]).toEqual(['hello\n', 'token']);
  expect(read('.claude/skills/review/SKILL.md')).toBe('# Review');
  expect(read('.replica/system-prompt.md')).toBe('Be brief.');
  expect(JSON.parse(read('.replica/mcp.json'))).toEqual({ mcpServers: plan.mcpServers });
  expect(statSync(inHome('.replica/mcp.json')).mode & 0o777).toBe(0o600);
  const steps = ofType(gateway.events, 'boot.step').map(({ step, outcome }) => `${step} ${outcome}`);
  expect(new Set(steps)).toEqual(
    new Set([
      'git done',
      'files done',
      'skills done',
      'mcp done',
      'system prompt done',
      'repository app done',
      'hook start done',
    ]),
  );
  for (const needle of ['hush-hush', folder.secret]) {
    expect(
      execFileSync('sh', ['-c', `grep -rl -- '${needle}' . || true`], { cwd: folder.home, encoding: 'utf8' }),
    ).toBe('');
  }
});

test('the same plan twice is one boot; another has to wait; later it is a new one', async () => {
  const hook = bootHook({ commands: ['echo x >> count; until [ -e go ]; do sleep 0.02; done'] });
  const plan = bootPlan({ hooks: [hook] });
  const put = async (body: unknown) => (await engine.request('PUT', '/boot', body)).status;
  expect([await put(plan), await put(plan)]).toEqual([202, 202]);
  expect(await engine.request('PUT', '/boot', bootPlan())).toMatchObject({
    status: 409,
    text: expect.stringContaining(`The boot ${plan.id} is running`),
  });
  mkdirSync(inHome('workspaces/go'));
  await last('boot.finished');
  expect(await put(plan)).toBe(202);
  expect(await engine.boot(bootPlan({ hooks: [{ ...hook, runId: randomUUID() }] }))).toBe('finished');
  expect(read('workspaces/count')).toBe('x\nx\n');
});

test('what is there is left as it is, and variables are those of the last plan', async () => {
  const repositories = [bind('app')];
  await engine.boot(bootPlan({ repositories, systemPrompt: 'old', variables: { A: '1', B: '1' } }));
  writeFileSync(inHome('workspaces/app/README.md'), 'edited\n');
  const hooks = [bootHook({ commands: ['echo "[$A] [$B]"'] })];
  await engine.boot(bootPlan({ repositories, variables: { A: '2' }, hooks }));
  expect(read('workspaces/app/README.md')).toBe('edited\n');
  expect(existsSync(inHome('.replica/system-prompt.md'))).toBe(false);
  await until(() => ofType(gateway.events, 'hook.output').length > 0, 'the hook has printed');
  expect(ofType(gateway.events, 'hook.output')).toMatchObject([{ text: '[2] []\n' }]);
  expect(ofType(gateway.events, 'boot.step').filter(({ detail }) => detail === 'kept')).toMatchObject([
    { outcome: 'skipped' },
  ]);
});

test.each<[string, string, string | null, RegExp]>([
  ['a missing branch', 'app', 'nowhere', /has no branch nowhere/],
  ['a refused credential', 'closed', null, /credential is missing, wrong or has expired/],
])('%s fails the boot with a sentence', async (_, name, branch, sentence) => {
  const repositories = [bind(name, branch)];
  expect(await engine.boot(bootPlan({ repositories }))).toBe('failed');
  expect(await last('boot.failed')).toMatchObject({
    step: `repository ${name}`,
    message: expect.stringMatching(sentence),
  });
});

test('files never leave the home directory by a link', async () => {
  const outside = path.join(folder.home, '..', 'outside');
  mkdirSync(outside);
  symlinkSync(outside, inHome('link'));
  symlinkSync(path.join(outside, 'target'), inHome('.bashrc'));
  await engine.boot(bootPlan({ files: [file('~/link/a', 'x'), file('~/.bashrc', 'mine')] }));
  expect(await last('boot.finished')).toMatchObject({
    filesWritten: ['~/.bashrc'],
    warnings: ['The file ~/link/a was not written: a link on the way to it leads out of the home directory.'],
  });
  expect(execFileSync('ls', ['-A', outside], { encoding: 'utf8' })).toBe('');
  expect(read('.bashrc')).toBe('mine');
});
