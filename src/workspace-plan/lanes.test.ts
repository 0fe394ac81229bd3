import { expect, test } from 'vitest';
import { createLanes } from './lanes.ts';

test('work of one key runs so many at a time and in order, beside that of another key', async () => {
  const inLane = createLanes(2);
  const started: string[] = [];
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const work = (name: string) => () => {
    started.push(name);
    const gate = Promise.withResolvers<void>();
    gates.set(name, gate);
    return gate.promise;
  };
  const ends = ['a1', 'a2', 'a3', 'a4', 'b1'].map((name) => inLane(name[0] ?? '', work(name)));
  expect(started).toEqual(['a1', 'a2', 'b1']);
  gates.get('a2')?.reject(new Error('failed'));
  await expect(ends[1]).rejects.toThrow('failed');
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3']);
  gates.get('a1')?.resolve();
  await ends[0];
  expect(started.at(-1)).toBe('a4');
  for (const gate of gates.values()) gate.resolve();
  await Promise.allSettled(ends);
  await inLane('a', async () => started.push('again'));
  expect(started.at(-1)).toBe('again');
});
