import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bootHook, bootPlan, createEngineFolder, type EngineFolder, ofType, until } from './engine-folder.ts';
import type { EventsGateway, SentEvent } from './events-gateway.ts';
import { turnRequest } from './turn-request.ts';

let folder: EngineFolder;
const gateways: ChildProcess[] = [];
beforeEach(() => {
  folder = createEngineFolder();
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) gateway.kill('SIGKILL');
  await folder.close();
});

const starts = (events: readonly SentEvent[]) => ofType(events, 'engine.started').length;
const numbers = (events: readonly SentEvent[]) => events.map(({ seq }) => seq);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
const saidOfTurns = (events: readonly SentEvent[]) =>
  events.map(({ type }) => type).filter((type) => type.startsWith('turn.') && type !== 'turn.delta');
const waitForStart = (gateway: EventsGateway, count: number) =>
  until(() => starts(gateway.events) === count, `the engine has started ${count} times`);

/** A hook that prints so many numbered lines slowly enough to be killed in the middle. */
const counting = (lines: number) =>
  bootHook({ commands: [`for i in $(seq ${lines}); do echo line $i; sleep 0.005; done`] });
const printed = (events: readonly SentEvent[]) =>
  ofType(events, 'hook.output')
    .map(({ text }) => text)
    .join('');

test('numbers go on over restarts, and each event is there once', async () => {
  const gateway = await folder.openGateway();
  for (const count of [1, 2, 3]) {
    const engine = await folder.start({ incarnation: count });
    await waitForStart(gateway, count);
    await engine.kill();
  }
  expect(numbers(gateway.events)).toEqual([1, 2, 3]);
});

test('a report goes out at once', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  const plan = bootPlan({ hooks: [bootHook({ commands: ['true'] })] });
  await engine.request('PUT', '/boot', plan);
  await until(() => ofType(gateway.events, 'boot.finished').length === 1, 'the boot has finished');
  const [finished] = gateway.events.filter(({ type }) => type === 'boot.finished');
  expect(Date.now() - Date.parse(finished?.at ?? '')).toBeLessThan(500);
});

test('a flush does not wait for what an event would go along with', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  const turn = turnRequest({ message: 'SCRIPT:[{"sleepMs":60000}]' });
  await engine.request('POST', '/turns', turn);
  await until(() => readOutbox().includes('turn.started'), 'the begin of the turn is written down');
  await engine.request('POST', '/flush');
  expect(ofType(gateway.events, 'turn.started')).toEqual([{ turnId: turn.id, chatId: turn.chatId }]);
});

test('what goes along with other events goes before them, and does not wait for them for long', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  const waiting = turnRequest({ message: 'SCRIPT:[{"sleepMs":60000}]' });
  await engine.request('POST', '/turns', waiting);
  await until(() => saidOfTurns(gateway.events).length === 1, 'its begin has come though nothing follows');
  const short = turnRequest({ message: 'SCRIPT:[{"say":"b"}]' });
  await engine.request('POST', '/turns', short);
  await until(() => ofType(gateway.events, 'turn.finished').length === 1, 'the turn has ended');
  expect(saidOfTurns(gateway.events)).toEqual([
    'turn.started',
    ...['turn.started', 'turn.message', 'turn.message', 'turn.finished'],
  ]);
  expect(numbers(gateway.events)).toEqual(upTo(gateway.events.length));
});

test('what waits to go along with other events outlives a kill, and comes before what the next engine says', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  gateway.intercept = () => ({ status: 503 });
  const turn = turnRequest({ message: 'SCRIPT:[{"say":"a"},{"sleepMs":60000}]' });
  await engine.request('POST', '/turns', turn);
  await until(() => readOutbox().includes('turn.message'), 'the first words are written down');
  await engine.kill();
  gateway.intercept = null;
  await folder.start({ incarnation: 2 });
  await until(() => ofType(gateway.events, 'turn.finished').length === 1, 'the end was reported');
  expect(saidOfTurns(gateway.events)).toEqual(['turn.started', 'turn.message', 'turn.finished']);
  expect(ofType(gateway.events, 'turn.finished')).toMatchObject([{ turnId: turn.id, failure: 'stopped' }]);
  expect(numbers(gateway.events)).toEqual(upTo(gateway.events.length));
});

test('the engine is killed again and again: nothing it has written down is lost or doubled', async () => {
  const gateway = await folder.openGateway();
  const plan = bootPlan({ hooks: [counting(1_000)] });
  const written = new Set<string>();
  for (let round = 1; round <= 5; round += 1) {
    const engine = await folder.start({ incarnation: round });
    // Taken but not answered, so that the engine has to send it again.
    gateway.intercept = () => (Math.random() < 0.3 ? { status: 503 } : null);
    await engine.request('PUT', '/boot', { ...plan, id: randomUUID() });
    const before = gateway.events.length;
    await until(() => gateway.events.length > before + 8, 'some events have come');
    await engine.kill();
    for (const line of readOutbox().split('\n').slice(0, -1)) written.add(line);
  }
  gateway.intercept = null;
  await folder.start({ incarnation: 6 });
  await until(() => gateway.events.at(-1)?.type === 'engine.started', 'the last start was reported');
  const taken = gateway.events.map(({ at, type, payload }) => JSON.stringify({ at, type, payload }));
  expect(taken).toEqual(expect.arrayContaining([...written]));
  expect(written.size).toBeGreaterThan(20);
  expect(numbers(gateway.events)).toEqual(upTo(gateway.events.length));
});

test('the gateway is killed again and again: every line arrives once and in order', async () => {
  const file = path.join(folder.home, '..', 'events');
  const startGateway = async (): Promise<ChildProcess> => {
    const program = path.join(import.meta.dirname, 'events-gateway-process.ts');
    const child = spawn(process.execPath, [program, folder.socket, file, folder.secret], { stdio: 'ignore' });
    gateways.push(child);
    await once(child, 'spawn');
    return child;
  };
  const taken = (): SentEvent[] =>
    existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : [];
  let gateway = await startGateway();
  const engine = await folder.start();
  await until(() => starts(taken()) === 1, 'the start was reported');
  await engine.request('PUT', '/boot', bootPlan({ hooks: [counting(300)] }));
  for (let round = 0; round < 3; round += 1) {
    const before = taken().length;
    await until(() => taken().length > before + 3, 'some events have come');
    gateway.kill('SIGKILL');
    await once(gateway, 'exit');
    gateway = await startGateway();
  }
  await until(() => ofType(taken(), 'boot.finished').length === 1, 'the boot has finished');
  gateway.kill('SIGKILL');
  await once(gateway, 'exit');
  expect(numbers(taken())).toEqual(upTo(taken().length));
  expect(printed(taken())).toBe(
    upTo(300)
      .map((line) => `line ${line}\n`)
      .join(''),
  );
});

test('events that were made while the gateway was away arrive after a kill of the engine', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  const engineHasWritten = () => existsSync(folder.outbox) && readOutbox().includes('boot.finished');
  gateway.intercept = () => ({ status: 503 });
  await engine.request('PUT', '/boot', bootPlan());
  await until(engineHasWritten, 'the boot is in the outbox');
  await engine.kill();
  const name = readdirSync(folder.outbox).at(-1) ?? '';
  appendFileSync(path.join(folder.outbox, name), '{"at":"cut o');
  gateway.intercept = null;
  await folder.start({ incarnation: 2 });
  await waitForStart(gateway, 2);
  expect(ofType(gateway.events, 'boot.finished')).toHaveLength(1);
  expect(numbers(gateway.events)).toEqual(upTo(gateway.events.length));
});

test('where the outbox was deleted, numbers go on after what the gateway has', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  gateway.intercept = () => ({ status: 503 });
  await engine.request('PUT', '/boot', bootPlan());
  await until(() => readOutbox().includes('boot.finished'), 'the boot is in the outbox');
  await engine.kill();
  rmSync(path.join(folder.home, '.replica'), { recursive: true });
  gateway.intercept = null;
  await folder.start({ incarnation: 2 });
  await waitForStart(gateway, 2);
  // What was on its way at the kill may arrive after it.
  expect(numbers(gateway.events)).toEqual(gateway.events.map((_, index) => index + 1));
});

test("another sandbox's events, left on a disk that was its snapshot, are not sent", async () => {
  const foreign = path.join(folder.outbox, '..', randomUUID());
  mkdirSync(foreign, { recursive: true });
  appendFileSync(path.join(foreign, '0000000000000001.events'), '{"at":"","type":"foreign","payload":{}}\n');
  const gateway = await folder.openGateway();
  await folder.start();
  await waitForStart(gateway, 1);
  expect(numbers(gateway.events)).toEqual([1]);
  expect(existsSync(foreign)).toBe(false);
});

test('the gateway may ask for earlier events', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  const finished = () => ofType(gateway.events, 'boot.finished').length;
  await engine.boot(bootPlan());
  await until(() => finished() === 1, 'the boot has finished');
  gateway.events.length -= 2;
  await engine.boot(bootPlan());
  await until(() => finished() === 2, 'both boots have finished');
  expect(numbers(gateway.events)).toEqual(upTo(gateway.events.length));
});

test('numbers that somebody else has used are passed over', async () => {
  const gateway = await folder.openGateway();
  const engine = await folder.start();
  await waitForStart(gateway, 1);
  gateway.events.push({ seq: 1_000, at: '', type: 'planted', payload: {} });
  const before = gateway.batches;
  await engine.boot(bootPlan());
  await until(() => gateway.batches > before, 'the engine has heard of it');
  await engine.boot(bootPlan());
  await until(() => gateway.events.at(-1)?.type === 'repositories.changed', 'the boot has finished');
  expect(gateway.events[2]?.seq).toBe(1_001);
});

test('one event the gateway refuses does not stop the others, and leaves no hole', async () => {
  const gateway = await folder.openGateway();
  gateway.intercept = (events) =>
    events.some(({ payload }) => String(payload.text).includes('poison')) ? { status: 400 } : null;
  const engine = await folder.start();
  const commands = ['echo before', 'sleep 0.1; echo poison; sleep 0.1', 'echo after'];
  await engine.request('PUT', '/boot', bootPlan({ hooks: [bootHook({ commands })] }));
  await until(() => ofType(gateway.events, 'boot.finished').length === 1, 'the boot has finished');
  expect(printed(gateway.events)).toBe('before\nafter\n');
  expect(ofType(gateway.events, 'engine.lost')).toHaveLength(1);
  expect(numbers(gateway.events)).toEqual(upTo(gateway.events.length));
  expect(folder.log()).toMatch(/event \d+ is dropped: the gateway answers it with 400/);
});

test.each([
  ['garbage', () => '{\n'.repeat(5_000)],
  [
    'forged events',
    () =>
      `${JSON.stringify({ at: new Date(), type: 'planted', payload: { text: 'x'.repeat(40) } })}\n`.repeat(
        5_000,
      ),
  ],
])('%s in the outbox does not hold up what is reported', async (_what, lines) => {
  mkdirSync(folder.outbox, { recursive: true });
  appendFileSync(path.join(folder.outbox, '0000000000000001.events'), lines());
  const gateway = await folder.openGateway();
  gateway.intercept = (events) => (events.some(({ type }) => type === 'planted') ? { status: 400 } : null);
  await folder.start();
  await waitForStart(gateway, 1);
  expect(gateway.batches).toBeLessThan(200);
  expect(numbers(gateway.events)).toEqual(upTo(5_001));
});

function readOutbox(): string {
  return readdirSync(folder.outbox)
    .map((name) => readFileSync(path.join(folder.outbox, name), 'utf8'))
    .join('');
}
