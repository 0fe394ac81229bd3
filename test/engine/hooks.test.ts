import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { BootHook, BootPlan } from '../../src/engine/protocol.ts';
import {
  bootHook,
  bootPlan,
  createEngineFolder,
  type EngineFolder,
  isAlive,
  ofType,
  type RunningEngine,
  until,
} from './engine-folder.ts';
import type { EventsGateway } from './events-gateway.ts';

let folder: EngineFolder;
let gateway: EventsGateway;
let engine: RunningEngine;
beforeAll(async () => {
  folder = createEngineFolder();
  gateway = await folder.openGateway();
  engine = await folder.start();
});
afterAll(() => folder.close());

async function begin(hook: BootHook, plan: Partial<BootPlan> = {}): Promise<void> {
  const answer = await engine.request('PUT', '/boot', bootPlan({ hooks: [hook], ...plan }));
  expect(answer.status).toBe(202);
}

const mine = (type: string, { runId }: BootHook) =>
  ofType(gateway.events, type).filter((payload) => payload.runId === runId);
const outputOf = (hook: BootHook) =>
  mine('hook.output', hook)
    .map(({ text }) => text)
    .join('');

async function run(hook: BootHook, plan: Partial<BootPlan> = {}) {
  const boots = () => gateway.events.filter(({ type }) => /^boot\.(finished|failed)$/.test(type));
  const before = boots().length;
  await begin(hook, plan);
  await until(() => boots().length > before, 'the boot has ended');
  const [{ exitCode, timedOut } = {}] = mine('hook.finished', hook);
  return { exitCode, timedOut, output: outputOf(hook), boot: boots().at(-1) };
}

const pidIn = (file: string) => Number(readFileSync(path.join(folder.home, 'workspaces', file), 'utf8'));

test('output is there while the hook runs, and its end with it', async () => {
  const hook = bootHook({
    commands: ['echo early; until [ -e go ]; do sleep 0.02; done; echo late >&2; exit 3'],
  });
  await begin(hook);
  await until(() => outputOf(hook) === 'early\n', 'the first line is there');
  expect(mine('hook.started', hook)).toHaveLength(1);
  expect(mine('hook.finished', hook)).toHaveLength(0);
  mkdirSync(path.join(folder.home, 'workspaces/go'));
  await until(() => mine('hook.finished', hook).length === 1, 'the hook has ended');
  expect(outputOf(hook)).toBe('early\nlate\n');
  expect(mine('hook.finished', hook)).toEqual([{ runId: hook.runId, exitCode: 3, timedOut: false }]);
  await until(() => ofType(gateway.events, 'boot.finished').length > 0, 'the boot has finished');
  expect(ofType(gateway.events, 'boot.finished').at(-1)?.warnings).toEqual([
    'The start hook ended with exit code 3.',
  ]);
});

test('separate commands have a shell each, and the first that fails is the last', async () => {
  const commands = ['X=1; echo one', 'echo "two [$X]"', 'exit 7', 'echo never'];
  expect(await run(bootHook({ commands }))).toMatchObject({ output: 'one\ntwo []\n', exitCode: 7 });
});

test('commands of one script share a shell', async () => {
  const commands = ['X=1', 'echo "two [$X]"', 'false', 'echo last'];
  const { output, exitCode } = await run(bootHook({ commands, separate: false }));
  expect({ output, exitCode }).toEqual({ output: 'two [1]\nlast\n', exitCode: 0 });
});

test('a hook sees the variables, has no input, and its output can be opened by name', async () => {
  const commands = [
    'echo "$TOKEN $REPLICA_HOOK_PHASE $PWD"; cat; echo named > /dev/stderr; echo named > /dev/stdout',
  ];
  const { output } = await run(bootHook({ commands }), { variables: { TOKEN: 'variable' } });
  expect(output).toBe(`variable start ${folder.home}/workspaces\nnamed\nnamed\n`);
});

test('the socket of the engine is not passed on to a hook', async () => {
  const { output } = await run(bootHook({ commands: ['readlink /proc/$$/fd/*'] }));
  expect(output).toMatch(/^\/dev\/null\n.*\.pipe \(deleted\)\n/);
  expect(output).not.toContain('socket:');
});

test('a time-out kills the whole tree, also what has left the session or changed its environment', async () => {
  const commands = [
    'setsid sleep 1000 & echo $! > session.pid',
    `(setsid bash -c 'echo $$ > orphan.pid; exec sleep 1000' &)`,
    `env -i sleep 1000 & echo $! > bare.pid`,
    `trap '' TERM INT HUP; echo $$ > shell.pid; echo waiting; sleep 1000; sleep 1000`,
  ];
  const { exitCode, timedOut, output } = await run(bootHook({ commands, separate: false, timeoutMs: 700 }));
  expect({ exitCode, timedOut }).toEqual({ exitCode: 124, timedOut: true });
  expect(output).toMatch(/^waiting\n\[It did not end within 0\.7 s and was killed/);
  const left = ['session.pid', 'orphan.pid', 'bare.pid', 'shell.pid'].map(pidIn).filter(isAlive);
  expect(left).toEqual([]);
});

test('what a hook leaves in the background goes on and does not hold the hook up', async () => {
  const server = 'while true; do echo tick; sleep 0.02; done';
  const hook = bootHook({ commands: [`(${server}) & echo $! > server.pid; echo started`] });
  const { exitCode, output } = await run(hook);
  expect(exitCode).toBe(0);
  expect(output).toContain('started\n');
  const ticks = mine('hook.output', hook).length;
  // Long enough that a write to a closed pipe would have ended it.
  await run(bootHook({ commands: ['sleep 0.2'] }));
  expect(isAlive(pidIn('server.pid'))).toBe(true);
  expect(mine('hook.output', hook)).toHaveLength(ticks);
});

test('output over the limit is cut and counted, and the hook goes on', async () => {
  const hook = bootHook({ commands: ['head -c 20000000 /dev/zero | tr "\\0" x; exit 5'] });
  const { exitCode, output } = await run(hook);
  expect(exitCode).toBe(5);
  expect(output.indexOf('\n')).toBe(16 * 1_048_576);
  expect(output.slice(16 * 1_048_576)).toBe(
    '\n[The output is longer than 16777216 bytes; the rest is not kept.]\n[20000000 bytes were written in all.]\n',
  );
  expect(Math.max(...mine('hook.output', hook).map(({ text }) => String(text).length))).toBeLessThanOrEqual(
    60_000,
  );
});

test('a shell that is killed has the exit code a shell would give it', async () => {
  expect(await run(bootHook({ commands: ['kill -9 $$'] }))).toMatchObject({ exitCode: 137, timedOut: false });
});

test('a warm hook that fails fails the boot only where that is asked for', async () => {
  const warm = () => bootHook({ phase: 'warm', commands: ['exit 9'] });
  expect((await run(warm())).boot?.type).toBe('boot.finished');
  const { boot } = await run(warm(), { failOn: 'warm_hook' });
  expect(boot).toMatchObject({
    type: 'boot.failed',
    payload: { step: 'hook warm', message: 'The warm hook ended with exit code 9. Its log says more.' },
  });
});

test('hooks run one after the other, each in its folder', async () => {
  const names = ['one', 'two'];
  for (const name of names)
    mkdirSync(path.join(folder.home, 'workspaces', name, '.git'), { recursive: true });
  const hooks = [null, 'two', 'missing'].map((repository) => bootHook({ repository, commands: ['pwd'] }));
  const repositories = names.map((name) => ({
    id: randomUUID(),
    name,
    url: `https://git.example/${name}`,
    branch: null,
    restore: false,
  }));
  await run(bootHook({ commands: [] }), { hooks, repositories });
  const places = hooks.map((hook) => path.relative(folder.home, outputOf(hook).trim()));
  expect(places).toEqual(['workspaces', 'workspaces/two', 'workspaces']);
  await run(bootHook({ commands: [] }), { hooks: hooks.slice(0, 0), repositories: repositories.slice(0, 1) });
});
