import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createIdleCollector } from './idle-collector.ts';

test('garbage is collected once nothing happens any more', async () => {
  const garbage = new WeakRef(Array.from({ length: 1_000 }, () => ({})));
  createIdleCollector(20).touch();
  for (let round = 0; round < 200 && garbage.deref(); round += 1) await delay(10);
  expect(garbage.deref()).toBeUndefined();
});
