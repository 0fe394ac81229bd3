import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { agentNames, agentVersion, programFolder } from '../../src/agent-program/catalog.ts';
import { isAlive, makeNpmStub, type NpmStub, type stubs } from '../agent-program/npm-stub.ts';
import { until } from '../world/world.ts';

const program = path.resolve(import.meta.dirname, '../../src/cli/main.ts');
let npm: NpmStub;
afterEach(() => npm.remove());

type Ended = { code: number | null; stdout: string; stderr: string };

function start(...args: string[]): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [program, 'agents', ...args], {
    env: { PATH: npm.path, HOME: npm.folder, REPLICA_AGENTS_DIR: npm.folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const ended = Promise.all([closed, text(child.stdout), text(child.stderr)]).then(
    ([[code], stdout, stderr]) => ({ code, stdout, stderr }),
  );
  return { child, ended };
}

function run(what: keyof typeof stubs, ...args: string[]): Promise<Ended> {
  npm = makeNpmStub(what);
  return start(...args).ended;
}

describe('replica agents', () => {
  test('list says which there are and whether they are installed', async () => {
    const { code, stdout } = await run('success', 'list');
    expect(code).toBe(0);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.split(/\s{2,}/)),
    ).toEqual(agentNames.map((name) => [name, agentVersion(name), 'installed on first use']));
  });

  test('install --help names the agents', async () => {
    const { code, stdout } = await run('success', 'install', '--help');
    expect(code).toBe(0);
    for (const name of agentNames) expect(stdout).toContain(name);
  });

  test('install refuses a name that it does not know, before it installs anything', async () => {
    const { code, stdout, stderr } = await run('success', 'install', 'claude', 'copilot');
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: 'replica: there is no agent copilot; there are claude, codex, cursor, opencode.\n',
    });
    expect(npm.runs()).toEqual([]);
  });

  test('install installs those that are named, once', async () => {
    const first = await run('success', 'install', 'codex', 'claude');
    expect({ code: first.code, left: npm.left() }).toEqual({
      code: 0,
      left: [programFolder('claude'), programFolder('codex')],
    });
    expect(first.stderr).toContain(`codex ${agentVersion('codex')}: installed\n`);
    const again = await start('install', 'codex').ended;
    expect(again).toEqual({
      code: 0,
      stdout: `codex ${agentVersion('codex')} is installed already.\n`,
      stderr: '',
    });
    const { stdout } = await start('list').ended;
    expect(stdout).toMatch(
      new RegExp(`^codex +${agentVersion('codex').replaceAll('.', '\\.')} +installed$`, 'm'),
    );
  });

  test('install says in one line why it failed', async () => {
    const { code, stderr } = await run('failure', 'install', 'claude');
    expect(code).toBe(1);
    expect(stderr.trim().split('\n').at(-1)).toBe(
      'replica: npm could not install claude: npm error code E404',
    );
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('install leaves nothing when %s ends it', async (signal) => {
    npm = makeNpmStub('endless');
    const { child, ended } = start('install', 'claude');
    await until(() => npm.pids().length === 2);
    child.kill(signal);
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toContain('replica: stopped; nothing half-installed is left.');
    expect(npm.left()).toEqual([]);
    expect(npm.pids().filter(isAlive)).toEqual([]);
  });
});
