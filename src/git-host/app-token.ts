import { createPrivateKey, type KeyObject } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { SignJWT } from 'jose';
import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import * as store from './app-token-store.ts';
import { createCallGitHost } from './call.ts';
import { GitHostError, type GitHostPlace } from './host.ts';
import type { GitHostService } from './service.ts';

type Parts = { hosts: Pick<GitHostService, 'locate'>; sealer: Sealer; newId: () => string; now: () => Date };
/** A GitHub App of an organization, and the repository that it shall open. */
type Wanted = {
  organizationId: string;
  credentialId: string;
  appId: string;
  privateKey: string;
  /** The URL of the repository. */
  url: string;
};
type Made = { token: string; expiresAt: Date };

/** A token is made anew while the one before it still works, so that what takes long does not outlive it. */
const RENEW_BEFORE_MS = 5 * 60_000;
/** Longer than a host may take for the two calls; after that another process tries. */
const MAKING_MS = 45_000;
const LOOK_EVERY_MS = 100;
/** A token that is younger was refused for another reason than that it is not known any more. */
const YOUNG_MS = 60_000;

const headers = { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' };
const installation = z.object({ id: z.int().min(1) });
const accessToken = z.object({ token: z.string().min(1).max(4_096), expires_at: z.iso.datetime() });

export type AppTokens = ReturnType<typeof createAppTokens>;

/**
 * Short-lived tokens of GitHub Apps. One is made for each app and owner, by one process at a time; the others wait for
 * it. It is kept sealed and used by all until it is about to expire. A failure is kept nowhere.
 */
export function createAppTokens({ hosts, sealer, newId, now }: Parts) {
  /** A token that works for some minutes more. It may wait for the host, so it is not for a transaction. */
  async function tokenFor(db: Db, wanted: Wanted): Promise<string> {
    const { place, key } = await locate(db, wanted);
    const giveUpAtMs = performance.now() + 2 * MAKING_MS;
    while (performance.now() < giveUpAtMs) {
      const known = await store.selectToken(db, key);
      const isFresh = known?.expires_at && known.expires_at.getTime() - now().getTime() > RENEW_BEFORE_MS;
      if (known?.token && isFresh) return sealer.open(known.token, context(known.id));
      const turn = await store.claimToken(db, {
        id: newId(),
        ...key,
        staleAt: new Date(now().getTime() + RENEW_BEFORE_MS),
        now: now(),
        until: new Date(now().getTime() + MAKING_MS),
      });
      if (turn) return make(db, turn, { place, wanted });
      await delay(LOOK_EVERY_MS);
    }
    throw new GitHostError(`No token for ${key.scope} was made in time; try again.`, { kind: 'timeout' });
  }

  /**
   * A token in place of one that the host has refused: the app may have been installed anew, or the clocks of the two may
   * differ. Null when there is no other one, or too soon after the last was made for another to fare better.
   */
  async function replace(db: Db, wanted: Wanted, refused: string): Promise<string | null> {
    const { key } = await locate(db, wanted);
    const known = await store.selectToken(db, key);
    if (known?.token && sealer.open(known.token, context(known.id)) === refused) {
      const madeBefore = new Date(now().getTime() - YOUNG_MS);
      await store.dropToken(db, { id: known.id, token: known.token, madeBefore });
    }
    const token = await tokenFor(db, wanted);
    return token === refused ? null : token;
  }

  /** The repository on its host, and under what its token is kept. */
  async function locate(db: Db, { organizationId, credentialId, url }: Wanted) {
    const place = await hosts.locate(db, organizationId, url);
    if (place.kind !== 'github')
      throw new GitHostError(`The credential is a GitHub App, and ${place.host} is not a GitHub host.`);
    const [owner = ''] = place.fullName.split('/');
    return { place, key: { credentialId, scope: `${place.host}/${owner}`.toLowerCase() } };
  }

  async function make(
    db: Db,
    turn: store.TokenTurn,
    { place, wanted }: { place: GitHostPlace; wanted: Wanted },
  ): Promise<string> {
    try {
      const madeAt = now();
      const { token, expiresAt } = await mint(place, wanted, madeAt);
      const sealed = sealer.seal(token, context(turn.id));
      await store.keepToken(db, turn, { token: sealed, made_at: madeAt, expires_at: expiresAt });
      return token;
    } catch (error) {
      await store.leaveToken(db, turn);
      throw error;
    }
  }

  return { tokenFor, replace };
}

/** The key of a GitHub App, in either of the two forms of PEM; null for anything else. */
export function readAppKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
    return key.asymmetricKeyType === 'rsa' && bits >= 2_048 ? key : null;
  } catch {
    return null;
  }
}

/** Asks GitHub as the app where it is installed, and for a token of that installation. */
async function mint(place: GitHostPlace, { appId, privateKey }: Wanted, at: Date): Promise<Made> {
  const key = readAppKey(privateKey);
  if (!key) throw new GitHostError('The private key of the GitHub App cannot be read; store the app anew.');
  const call = createCallGitHost({ ...place, token: await signAsApp(appId, key, at) }, headers);
  const signal = AbortSignal.timeout(MAKING_MS);
  const [owner = '', name = ''] = place.fullName.split('/');
  const repository = `${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
  try {
    const path = `/repos/${repository}/installation`;
    const found = await call({ method: 'GET', path }, installation, signal);
    const asked = {
      method: 'POST',
      path: `/app/installations/${found.answer?.id}/access_tokens`,
      body: {},
    } as const;
    const { answer } = await call(asked, accessToken, signal);
    if (!answer) throw new Error('a call that accepts no refusal has an answer');
    return { token: answer.token, expiresAt: new Date(answer.expires_at) };
  } catch (error) {
    throw spoken(error, { appId, place });
  }
}

/** The clock of the host may be behind; it takes no more than ten minutes. */
function signAsApp(appId: string, key: KeyObject, at: Date): Promise<string> {
  const issuedAt = Math.floor(at.getTime() / 1_000) - 60;
  return new SignJWT()
    .setProtectedHeader({ alg: 'RS256' })
    .setIssuer(appId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + 600)
    .sign(key);
}

/** What the host says of a token does not fit an app. */
function spoken(error: unknown, { appId, place }: { appId: string; place: GitHostPlace }): unknown {
  if (!(error instanceof GitHostError) || error.status === null) return error;
  const sentences: Record<number, string> = {
    401: `GitHub does not know the app ${appId} by its private key: one of the two is wrong, the key was revoked, or the clock of this service is off.`,
    403: `GitHub lets the app ${appId} make no token for ${place.fullName}: its installation is suspended, or it has asked too often.`,
    404: `The GitHub App ${appId} is not installed for ${place.fullName}; install it there, with access to the repository.`,
  };
  const sentence = sentences[error.status];
  if (sentence === undefined) return error;
  return new GitHostError(sentence, { kind: 'unauthorized', status: error.status, cause: error });
}

const context = (id: string) => sealedContext('installation_token', 'token', id);
