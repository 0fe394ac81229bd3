import { type CryptoKey, errors, importJWK, type JWTHeaderParameters, jwtVerify } from 'jose';
import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { accessTokenAlgorithm, signingKeyGraceSeconds } from './access-token.ts';
import { selectSigningKeys } from './credential-store.ts';

type Parts = { db: Db; baseUrl: string; now: () => Date; monotonicMs: () => number };

type AccessToken = { personId: string; organizationId: string };

type SigningKey = { key: CryptoKey | Uint8Array; expiresAt: Date | null };

/** A key that an operator deletes stops checking tokens after this long. */
const KEYS_AGE_MS = 60_000;
/** Tokens that name a key nobody has must not make a database read each. */
const MIN_RELOAD_MS = 1_000;

const claims = z.object({ sub: z.guid(), organization_id: z.guid() });

/** Checks a person's JWT against the public keys; null for whatever is not a valid one. */
export function createAccessTokenVerifier({ db, baseUrl, now, monotonicMs }: Parts) {
  let keys = new Map<string, SigningKey>();
  let loadedAtMs = Number.NEGATIVE_INFINITY;
  let loading: Promise<void> | null = null;

  async function load(): Promise<void> {
    const rows = await selectSigningKeys(db);
    const loaded = new Map<string, SigningKey>();
    for (const row of rows) {
      if (row.alg !== accessTokenAlgorithm) continue;
      const key = await importJWK(JSON.parse(row.public_key), accessTokenAlgorithm);
      loaded.set(row.id, { key, expiresAt: row.expires_at });
    }
    keys = loaded;
    loadedAtMs = monotonicMs();
  }

  /** Requests that need the keys at the same time share one read. */
  function reload(): Promise<void> {
    loading ??= load().finally(() => {
      loading = null;
    });
    return loading;
  }

  async function findKey({ kid }: JWTHeaderParameters): Promise<SigningKey['key']> {
    const ageMs = monotonicMs() - loadedAtMs;
    const isUnknown = kid === undefined || !keys.has(kid);
    if (ageMs > KEYS_AGE_MS || (isUnknown && ageMs > MIN_RELOAD_MS)) await reload();
    const found = kid === undefined ? undefined : keys.get(kid);
    if (!found || isPast(found, now())) throw new errors.JWKSNoMatchingKey();
    return found.key;
  }

  return async function verify(token: string): Promise<AccessToken | null> {
    try {
      const { payload } = await jwtVerify(token, findKey, {
        algorithms: [accessTokenAlgorithm],
        issuer: baseUrl,
        audience: baseUrl,
        requiredClaims: ['exp', 'sub'],
        currentDate: now(),
      });
      const parsed = claims.safeParse(payload);
      return parsed.success
        ? { personId: parsed.data.sub, organizationId: parsed.data.organization_id }
        : null;
    } catch (error) {
      if (error instanceof errors.JOSEError) return null;
      throw error;
    }
  };
}

function isPast({ expiresAt }: SigningKey, at: Date): boolean {
  return expiresAt !== null && expiresAt.getTime() + signingKeyGraceSeconds * 1000 < at.getTime();
}
