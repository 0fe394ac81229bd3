import { tmpdir } from 'node:os';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { JsonObject } from '../../src/engine/agents/agent.ts';
import { startAgentProcess } from '../../src/engine/agents/agent-process.ts';
import { isAlive } from './engine-folder.ts';

async function start(script: string, onMessage?: (message: JsonObject) => void | Promise<void>) {
  const heard: JsonObject[] = [];
  const logs: string[] = [];
  const agent = await startAgentProcess({
    program: process.execPath,
    args: ['-e', script],
    folder: tmpdir(),
    environment: { PATH: process.env.PATH ?? '' },
    onMessage: onMessage ?? ((message) => void heard.push(message)),
    log: (line) => void logs.push(line),
  });
  onTestFinished(() => agent.close());
  const until = (isSo: () => boolean) =>
    vi.waitFor(() => expect(isSo()).toBe(true), { timeout: 10_000, interval: 10 });
  return { agent, heard, logs, until };
}

const echo = `process.stdin.on('data', (data) => process.stdout.write('a remark\\n' + data)); console.log('{"ready":1}')`;

test('objects go in and out as lines, and the process is in a session of its own', async () => {
  const { agent, heard, until } = await start(echo);
  agent.send({ text: 'a\nb' });
  await until(() => heard.length === 2);
  expect(heard).toEqual([{ ready: 1 }, { text: 'a\nb' }]);
  expect(isAlive(agent.pid)).toBe(true);
  process.kill(-agent.pid, 0);
  await agent.close();
  expect(isAlive(agent.pid)).toBe(false);
  agent.send({ text: 'lost' });
});

test('what was said before the end is heard before it, with the last words', async () => {
  const { agent, heard } = await start(
    `console.error('x'.repeat(10_000) + ' the reason'); for (let i = 0; i < 2000; i += 1) console.log('{"i":' + i + '}')`,
  );
  await agent.ended;
  expect(heard).toHaveLength(2_000);
  expect(agent.lastWords()).toMatch(/x the reason$/);
  expect(agent.lastWords().length).toBeLessThanOrEqual(4_000);
});

test('a program that says more than is dealt with has to wait', async () => {
  const gate = Promise.withResolvers<void>();
  const { agent, logs, until } = await start(
    `const line = JSON.stringify({ text: 'x'.repeat(100_000) }) + '\\n';
     let count = 0;
     const say = () => process.stdout.write(line, () => { console.error(++count); if (count < 200) say(); });
     say();`,
    () => gate.promise,
  );
  const said = () => Number(agent.lastWords().split('\n').at(-1));
  await until(() => said() > 0);
  expect(said()).toBeLessThan(100);
  gate.resolve();
  await agent.ended;
  expect(said()).toBe(200);
  expect(logs).toEqual([]);
});

test('a message that cannot be dealt with is noted, and the next is heard', async () => {
  const heard: JsonObject[] = [];
  const { agent, logs } = await start(`console.log('{"a":1}\\n{"b":2}')`, (message) => {
    heard.push(message);
    if (heard.length === 1) throw new Error('no');
  });
  await agent.ended;
  expect(heard).toEqual([{ a: 1 }, { b: 2 }]);
  expect(logs).toEqual([expect.stringMatching(/not dealt with: Error: no/)]);
});

test('one that does not want to end is killed with its group', async () => {
  const { agent, heard, until } = await start(
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);
     const child = require('child_process').spawn('sleep', ['1000']);
     console.log(JSON.stringify({ pid: child.pid }));`,
  );
  await until(() => heard.length === 1);
  await agent.close();
  expect(isAlive(agent.pid)).toBe(false);
  await until(() => !isAlive(Number(heard[0]?.pid)));
});
