import type { KeyObject } from 'node:crypto';
import { jwtVerify } from 'jose';
import type { Answer } from './git-host-api.ts';

type Call = { method: string; parts: string[] };

/** The part of the stand-in for GitHub that gives tokens to apps, which prove themselves with their private key. */
export type GithubApps = ReturnType<typeof createGithubApps>;

const INSTALLATION = 4_711;

export function createGithubApps() {
  const keys = new Map<string, KeyObject>();
  const tokens = new Map<string, number>();
  let lifeMs = 3_600_000;

  return {
    /** Installs an app for `team/app`, with the public half of its key. */
    install: (appId: string, key: KeyObject) => void keys.set(appId, key),
    /** How long the tokens work that are made from here on. */
    setLife: (ms: number) => {
      lifeMs = ms;
    },
    /** As when an app is removed and installed again: no token of before works. */
    revokeAll: () => {
      for (const token of tokens.keys()) tokens.set(token, 0);
    },
    /** How many tokens were made. */
    made: () => tokens.size,
    isToken: (bearer: string) => (tokens.get(bearer) ?? 0) > Date.now(),

    async answer({ method, parts }: Call, bearer: string): Promise<Answer> {
      if (!(await isApp(bearer)))
        return { status: 401, body: { message: 'A JSON web token could not be decoded' } };
      if (method === 'GET' && parts.join('/') === 'repos/team/app/installation')
        return { status: 200, body: { id: INSTALLATION, account: { login: 'team' } } };
      if (method !== 'POST' || parts.join('/') !== `app/installations/${INSTALLATION}/access_tokens`)
        return { status: 404, body: { message: 'Not Found' } };
      const token = `ghs_standin${tokens.size + 1}`;
      const expiresMs = Date.now() + lifeMs;
      tokens.set(token, expiresMs);
      const expires_at = new Date(expiresMs).toISOString().replace(/\.\d+/, '');
      return { status: 201, body: { token, expires_at, permissions: { contents: 'write' } } };
    },
  };

  /** As GitHub does it: signed by the key of the app that it names, and good for ten minutes at most. */
  async function isApp(bearer: string): Promise<boolean> {
    for (const [appId, key] of keys) {
      const options = { algorithms: ['RS256'], issuer: appId, requiredClaims: ['iat', 'exp'] };
      const verified = await jwtVerify(bearer, key, options).catch(() => null);
      const { iat = 0, exp = 0 } = verified?.payload ?? {};
      if (verified && exp - iat <= 600 && iat * 1_000 <= Date.now()) return true;
    }
    return false;
  }
}

/** What only an app may ask. */
export function isForApps({ parts }: Call): boolean {
  return parts[0] === 'app' || parts[3] === 'installation';
}
