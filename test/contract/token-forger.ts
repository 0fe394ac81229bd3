import { randomUUID } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { accessTokenAlgorithm } from '../../src/account/access-token.ts';
import type { World } from '../world/world.ts';

type Person = { personId: string; organizationId: string };
type Fault = { expiresInSeconds?: number; audience?: string };

/**
 * Signs tokens that differ from real ones in one thing. The key it signs with is put into the database beside the
 * service's own, so that nothing but the fault is wrong with a token.
 */
export async function createTokenForger(world: World) {
  const { publicKey, privateKey } = await generateKeyPair(accessTokenAlgorithm, { crv: 'Ed25519' });
  const kid = randomUUID();
  const row = {
    id: kid,
    public_key: JSON.stringify(await exportJWK(publicKey)),
    private_key: 'kept by the test',
    alg: accessTokenAlgorithm,
    crv: 'Ed25519',
    // The service signs with the newest key, which must stay its own.
    created_at: new Date(0),
  };
  await world.db.insertInto('signing_key').values(row).execute();

  return function forge(person: Person, { expiresInSeconds = 60, audience = world.url }: Fault) {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ organization_id: person.organizationId })
      .setProtectedHeader({ alg: accessTokenAlgorithm, kid })
      .setSubject(person.personId)
      .setIssuer(world.url)
      .setAudience(audience)
      .setIssuedAt(now - 3600)
      .setExpirationTime(now + expiresInSeconds)
      .sign(privateKey);
  };
}
