import { afterAll, beforeAll, expect, test } from 'vitest';
import { deleteExpired } from '../../src/account/sweep-store.ts';
import { newId } from '../../src/lib/ids.ts';
import { startWorld, type World } from '../world/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

test('counts of login attempts go once they count for nothing', async () => {
  const now = Date.now();
  const day = 24 * 60 * 60_000;
  const attempt = (key: string, at: number) => ({ id: newId(), key, count: 3, last_request: at });
  await world.db
    .insertInto('login_attempt')
    .values([attempt('192.0.2.1|/sign-in/email', now - day), attempt('192.0.2.2|/sign-in/email', now)])
    .execute();
  await deleteExpired(world.db, new Date(now));
  const kept = await world.db.selectFrom('login_attempt').select('key').execute();
  expect(kept).toEqual([{ key: '192.0.2.2|/sign-in/email' }]);
});
