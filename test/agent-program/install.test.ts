import { mkdirSync, statSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { agentVersion, programFolder } from '../../src/agent-program/catalog.ts';
import { AgentInstallError, installAgent, isInstalled } from '../../src/agent-program/install.ts';
import { createAgentPrograms } from '../../src/agent-program/service.ts';
import { until } from '../world/world.ts';
import { isAlive, makeNpmStub, type NpmStub, type stubs } from './npm-stub.ts';

const never = new AbortController().signal;
const usual = {
  PATH: process.env.PATH,
  DATABASE_URL: process.env.DATABASE_URL,
  mask: process.umask(),
};
let npm: NpmStub;

function use(what: keyof typeof stubs): void {
  npm = makeNpmStub(what);
  process.env.PATH = npm.path;
}
beforeEach(() => {
  process.env.DATABASE_URL = 'postgresql://somebody:secret@example.com/db';
});
afterEach(() => {
  process.umask(usual.mask);
  process.env.PATH = usual.PATH;
  if (usual.DATABASE_URL === undefined) delete process.env.DATABASE_URL;
  else process.env.DATABASE_URL = usual.DATABASE_URL;
  npm.remove();
});

const install = (progress: string[] = [], signal = never) =>
  installAgent({ agent: 'claude', folder: npm.folder, onProgress: (line) => progress.push(line), signal });

describe('an agent is installed', () => {
  test('whole or not at all, and readable for everybody', async () => {
    use('gated');
    process.umask(0o077);
    const progress: string[] = [];
    const installing = install(progress);
    await until(() => npm.runs().length === 1);
    expect(isInstalled('claude', npm.folder)).toBe(false);
    expect(npm.left()).not.toContain(programFolder('claude'));
    npm.open();
    await installing;
    expect(isInstalled('claude', npm.folder)).toBe(true);
    expect(npm.left()).toEqual([programFolder('claude')]);
    const program = path.join(npm.folder, programFolder('claude'), 'node_modules/@maker/program/file');
    expect(statSync(program).mode & 0o777).toBe(0o644);
    for (const folder of [npm.folder, path.join(npm.folder, programFolder('claude'))])
      expect(statSync(folder).mode & 0o777).toBe(0o755);
    expect(progress).toEqual([
      `claude ${agentVersion('claude')}: downloading and unpacking`,
      `claude ${agentVersion('claude')}: installed`,
    ]);
    expect(npm.runs()).toEqual([expect.stringMatching(/^ci --workspace=claude --ignore-scripts /)]);
    expect(npm.environment()).not.toMatch(/DATABASE_URL|REPLICA_/);
  });

  test('once: what is there is not fetched again', async () => {
    use('success');
    await install();
    await install();
    expect(npm.runs()).toHaveLength(1);
  });

  test('by several at once, of whom the first counts', async () => {
    use('gated');
    const installing = [install(), install(), install()];
    await until(() => npm.runs().length === 3);
    npm.open();
    await Promise.all(installing);
    expect(npm.left()).toEqual([programFolder('claude')]);
    expect(isInstalled('claude', npm.folder)).toBe(true);
  });

  test.each([
    ['failure', /^npm could not install claude: npm error code E404$/],
    ['empty', new RegExp(`^There are no programs of claude for linux ${process.arch}\\.$`)],
  ] as const)('not when npm ends in %s, and a sentence says why', async (what, sentence) => {
    use(what);
    await expect(install()).rejects.toThrow(sentence);
    await expect(install()).rejects.toBeInstanceOf(AgentInstallError);
    expect(npm.left()).toEqual([]);
  });

  test('not without npm, and a sentence says so', async () => {
    use('success');
    process.env.PATH = '/nonexistent';
    await expect(install()).rejects.toThrow('Installing claude needs npm on the PATH of the service.');
    expect(npm.left()).toEqual([]);
  });

  test('not when it is stopped in the middle: no process and no file is left', async () => {
    use('endless');
    const stopping = new AbortController();
    const installing = install([], stopping.signal);
    await until(() => npm.pids().length === 2);
    const reason = new Error('the service stops');
    stopping.abort(reason);
    await expect(installing).rejects.toBe(reason);
    expect(npm.left()).toEqual([]);
    expect(npm.pids().filter(isAlive)).toEqual([]);
  });

  test('and takes away what a killed one has left long ago, not what another one is at', async () => {
    use('success');
    const [old, fresh] = ['.installing-old', '.installing-fresh'].map((name) => path.join(npm.folder, name));
    for (const folder of [old, fresh])
      mkdirSync(path.join(folder ?? '', 'node_modules'), { recursive: true });
    const longAgo = new Date(Date.now() - 60 * 60_000);
    utimesSync(old ?? '', longAgo, longAgo);
    await install();
    expect(npm.left().toSorted()).toEqual(['.installing-fresh', programFolder('claude')]);
  });
});

describe('the programs of agents on a machine', () => {
  const open = () => createAgentPrograms({ folder: npm.folder, log: pino({ level: 'silent' }) });

  test('are installed when they are first needed, once however many ask', async () => {
    use('gated');
    const programs = open();
    for (const _ of ['one', 'two', 'three']) expect(programs.request('claude')).toBe('installing');
    npm.open();
    await until(() => programs.request('claude') === 'installed');
    expect(programs.isInstalled('codex')).toBe(false);
    expect(npm.runs()).toHaveLength(1);
    await programs.close();
  });

  test('are not asked for again at once when they could not be had', async () => {
    use('failure');
    const programs = open();
    expect(programs.request('claude')).toBe('installing');
    await until(() => programs.request('claude') !== 'installing');
    expect(programs.request('claude')).toEqual({
      failed: 'npm could not install claude: npm error code E404',
    });
    expect(npm.runs()).toHaveLength(1);
    await programs.close();
  });

  test('are left as they are when the service stops', async () => {
    use('endless');
    const programs = open();
    programs.request('claude');
    await until(() => npm.pids().length === 2);
    await programs.close();
    expect(npm.left()).toEqual([]);
    expect(npm.pids().filter(isAlive)).toEqual([]);
  });
});
