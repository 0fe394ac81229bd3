import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller } from '../../src/account/caller.ts';
import { loadConfig } from '../../src/config.ts';
import { transact } from '../../src/db/transact.ts';
import { claimKey } from '../../src/http/idempotency.ts';
import { openSealer } from '../../src/main.ts';
import { startWorld, type World } from '../world/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

test('a repeat that has waited as long as a statement may is told that the first is still in progress', async () => {
  const { id: organizationId } = await world.org();
  const caller: Caller = { organizationId, kind: 'org_key', keyId: 'key', personId: null, role: 'admin' };
  const request = { caller, key: 'same', path: '/v1/environments', body: null };
  const sealer = openSealer(loadConfig({ REPLICA_DATA_DIR: world.folder }));
  await transact(world.db, async (first) => {
    await claimKey(first, sealer, request);
    const repeat = transact(world.db, async (second) => {
      await sql`set local statement_timeout = 100`.execute(second);
      return claimKey(second, sealer, request);
    });
    await expect(repeat).rejects.toMatchObject({ code: 'idempotency_key_in_progress' });
  });
});
