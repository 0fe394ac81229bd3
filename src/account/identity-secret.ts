import { randomBytes } from 'node:crypto';
import type { Db } from '../db/database.ts';
import { newId } from '../lib/ids.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import { insertSetting, selectSetting } from './identity-secret-store.ts';

const NAME = 'identity_secret';

/**
 * The secret that signs session cookies and encrypts the token signing keys. It is a random value of its own, sealed in
 * the database, so that a rotation of the master key leaves every login standing. Processes that start
 * together agree on the one that was stored first.
 */
export async function loadIdentitySecret(db: Db, sealer: Sealer): Promise<string> {
  const id = newId();
  const secret = randomBytes(32).toString('base64url');
  await insertSetting(db, {
    id,
    name: NAME,
    value: sealer.seal(secret, contextOf(id)),
    created_at: new Date(),
  });
  const stored = await selectSetting(db, NAME);
  return sealer.open(stored.value, contextOf(stored.id));
}

const contextOf = (id: string) => sealedContext('service_setting', 'value', id);
