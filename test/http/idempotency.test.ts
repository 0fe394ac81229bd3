import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/account/caller.ts';
import { loadConfig } from '../../src/config.ts';
import { transact } from '../../src/db/transact.ts';
import { claimKey, forgetOldKeys, settledAnswer, storeAnswer } from '../../src/http/idempotency.ts';
import { openSealer } from '../../src/main.ts';
import { startWorld, type World } from '../world/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

async function requestOf(world: World) {
  const { id: organizationId } = await world.org();
  const caller: Caller = { organizationId, kind: 'org_key', keyId: 'key', personId: null, role: 'admin' };
  const sealer = openSealer(loadConfig({ REPLICA_DATA_DIR: world.folder }));
  return { sealer, request: { caller, key: 'same', path: '/v1/environments', body: null } };
}

test('a repeat that has waited as long as a statement may is told that the first is still in progress', async () => {
  const { sealer, request } = await requestOf(world);
  await transact(world.db, async (first) => {
    await claimKey(first, sealer, request);
    const repeat = transact(world.db, async (second) => {
      await sql`set local statement_timeout = 100`.execute(second);
      return claimKey(second, sealer, request);
    });
    await expect(repeat).rejects.toMatchObject({ code: 'idempotency_key_in_progress' });
  });
});

test('a repeat that waits for a request whose record is removed meanwhile is told to try again', async () => {
  const { sealer, request } = await requestOf(world);
  const { id } = await claimKey(world.db, sealer, request);
  await storeAnswer(world.db, sealer, { id, answer: { status: 201, body: {} }, isSettled: false });
  const repeat = settledAnswer(world.db, sealer, { id, signal: AbortSignal.timeout(10_000) });
  const refused = expect(repeat).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/try again/),
  });
  await forgetOldKeys(world.db, new Date(Date.now() + 25 * 3_600_000));
  await refused;
  expect((await claimKey(world.db, sealer, request)).replay).toBeNull();
});
