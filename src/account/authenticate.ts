import { timingSafeEqual } from 'node:crypto';
import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { hashApiKey, parseApiKey } from './api-key-format.ts';
import type { Caller } from './caller.ts';
import { selectKeyCaller } from './credential-store.ts';
import { createCredentialWatch } from './credential-watch.ts';
import { createKeyCache } from './key-cache.ts';
import { createLastUsed } from './last-used.ts';
import { selectRole } from './store.ts';
import { createAccessTokenVerifier } from './verify-access-token.ts';

type Parts = {
  db: Db;
  /** Issuer and audience of people's tokens. */
  baseUrl: string;
  log: Logger;
  now?: () => Date;
  /** Milliseconds of a clock that never goes back. */
  monotonicMs?: () => number;
};

/** Together below the second in which a deleted key must be gone everywhere. */
const LOOK_INTERVAL_MS = 400;
const LEASE_MS = 900;
const LAST_USED_INTERVAL_MS = 30_000;
const MAX_CACHED_KEYS = 50_000;

const apiKeyStart = 'rs_';

/**
 * Finds out who a bearer token speaks for. An API key in use is answered from memory (see key-cache.ts); a person's
 * JWT is checked by its signature, and the membership is read each time, so that a removal counts at once.
 */
export function createAuthenticator({
  db,
  baseUrl,
  log,
  now = () => new Date(),
  monotonicMs = () => performance.now(),
}: Parts) {
  const cache = createKeyCache({ maxEntries: MAX_CACHED_KEYS, leaseMs: LEASE_MS });
  const watch = createCredentialWatch({ db, cache, monotonicMs, intervalMs: LOOK_INTERVAL_MS, log });
  const lastUsed = createLastUsed({ db, now, intervalMs: LAST_USED_INTERVAL_MS, log });
  const verifyAccessToken = createAccessTokenVerifier({ db, baseUrl, now, monotonicMs });

  async function authenticateKey(token: string): Promise<Caller | null> {
    const hash = hashApiKey(token);
    // A key that is remembered was well-formed when it was read; only others need the checksum.
    const known = cache.find(hash, monotonicMs());
    const caller = known ?? (parseApiKey(token) ? await readKey(hash) : null);
    if (caller?.keyId) lastUsed.note(caller.keyId);
    return caller;
  }

  async function readKey(hash: Buffer): Promise<Caller | null> {
    const ticket = cache.takeTicket();
    const found = await selectKeyCaller(db, hash);
    if (!found || !timingSafeEqual(found.hash, hash)) return null;
    cache.offer(ticket, found.hash, found.caller);
    return found.caller;
  }

  async function authenticatePerson(token: string): Promise<Caller | null> {
    const claims = await verifyAccessToken(token);
    if (!claims) return null;
    const role = await selectRole(db, claims);
    return role && { ...claims, kind: 'person', keyId: null, role };
  }

  return {
    /** Null when the token is unknown, expired, malformed, or of somebody who is no longer a member. */
    async authenticate(token: string): Promise<Caller | null> {
      if (token.startsWith(apiKeyStart)) return authenticateKey(token);
      return token.split('.').length === 3 ? authenticatePerson(token) : null;
    },
    /** Looks once for credentials that were taken away; `start` does so all the time. */
    lookForChanges: () => watch.look(),
    start(): void {
      watch.start();
      lastUsed.start();
    },
    async stop(): Promise<void> {
      await watch.stop();
      await lastUsed.stop();
    },
  };
}
