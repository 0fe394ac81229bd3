import { expect, test } from 'vitest';
import { createSerial } from './serial.ts';

const never = new AbortController().signal;

test('work under one key runs one after the other, in the order it came', async () => {
  const inTurn = createSerial();
  const seen: string[] = [];
  const work = (name: string) => async () => {
    seen.push(`${name} starts`);
    await Promise.resolve();
    seen.push(`${name} ends`);
  };
  await Promise.all(['a', 'b', 'c'].map((name) => inTurn({ key: 'k', signal: never, work: work(name) })));
  expect(seen).toEqual(['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});

test('work under another key does not wait', async () => {
  const inTurn = createSerial();
  const gate = Promise.withResolvers<string>();
  const first = inTurn({ key: 'one', signal: never, work: () => gate.promise });
  expect(await inTurn({ key: 'two', signal: never, work: async () => 'done' })).toBe('done');
  gate.resolve('late');
  expect(await first).toBe('late');
});

test('a failure is the failure of its own turn only', async () => {
  const inTurn = createSerial();
  const failing = inTurn({ key: 'k', signal: never, work: () => Promise.reject(new Error('mine')) });
  const next = inTurn({ key: 'k', signal: never, work: async () => 'fine' });
  await expect(failing).rejects.toThrow('mine');
  expect(await next).toBe('fine');
});

test('a turn that is given up never runs, and the next still waits for the one before', async () => {
  const inTurn = createSerial();
  const gate = Promise.withResolvers<void>();
  const seen: string[] = [];
  const first = inTurn({
    key: 'k',
    signal: never,
    work: () => gate.promise.then(() => void seen.push('first')),
  });
  const controller = new AbortController();
  const second = inTurn({ key: 'k', signal: controller.signal, work: async () => void seen.push('second') });
  const third = inTurn({ key: 'k', signal: never, work: async () => void seen.push('third') });
  controller.abort(new Error('given up'));
  await expect(second).rejects.toThrow('given up');
  gate.resolve();
  await Promise.all([first, third]);
  expect(seen).toEqual(['first', 'third']);
});
