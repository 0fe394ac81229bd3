import { expect, test } from 'vitest';
import { coalesce } from './coalesce.ts';

test('those who ask during a run share the one that follows it', async () => {
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  let runs = 0;
  const ask = coalesce(async () => {
    const run = runs++;
    await gates[run]?.promise;
    return run;
  });
  const first = ask();
  const [second, third] = [ask(), ask()];
  gates[0]?.resolve();
  expect(await first).toBe(0);
  gates[1]?.resolve();
  expect(await Promise.all([second, third])).toEqual([1, 1]);
  gates[2]?.resolve();
  expect(await ask()).toBe(2);
});

test('a run that fails does not stop the next', async () => {
  let runs = 0;
  const ask = coalesce(async () => {
    if (runs++ === 0) throw new Error('first');
    return runs;
  });
  const [first, second] = await Promise.allSettled([ask(), ask()]);
  expect([first.status, second.status]).toEqual(['rejected', 'fulfilled']);
});
