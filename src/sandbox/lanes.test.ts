import { expect, it } from 'vitest';
import { createLanes } from './lanes.ts';

it('lets work on one key come one at a time, also after a failure, and on other keys at once', async () => {
  const inLane = createLanes();
  const seen: string[] = [];
  const first = Promise.withResolvers<void>();
  const failing = inLane('a', async () => {
    await first.promise;
    seen.push('a1');
    throw new Error('no');
  });
  const second = inLane('a', async () => {
    seen.push('a2');
  });
  await inLane('b', async () => {
    seen.push('b');
  });
  first.resolve();
  await expect(failing).rejects.toThrow('no');
  await second;
  expect(seen).toEqual(['b', 'a1', 'a2']);
});
