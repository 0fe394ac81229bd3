import type { IncomingMessage } from 'node:http';
import { AppError } from '../contract/error.ts';
import type { TokenBuckets } from '../http/token-bucket.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import type { Connections } from './connections.ts';

/** Who a secret belongs to; null when it is nobody's. It is called for every request. */
export type AuthenticateSandbox = (secret: string) => Promise<SandboxIdentity | null>;

/** A proxy has a header of its own; the other one is then for the server that is asked for. */
type CredentialHeader = 'authorization' | 'proxy-authorization';

type AdmitParts = {
  authenticate: AuthenticateSandbox;
  connections: Connections;
  buckets: TokenBuckets;
  now: () => number;
};

/** Decides before anything else is read which sandbox makes the request, and whether too often. */
export function createAdmit({ authenticate, connections, buckets, now }: AdmitParts) {
  return async function admit(request: IncomingMessage, header: CredentialHeader): Promise<SandboxIdentity> {
    const secret = secretIn(request.headers[header]) ?? keyIn(request, header);
    const identity = secret === null ? null : await authenticate(secret);
    if (identity === null) {
      throw new AppError(
        'unauthenticated',
        'Send the secret of this sandbox as bearer or as basic password.',
      );
    }
    if (!connections.claim(request.socket, identity.sandboxId)) {
      throw new AppError('rate_limited', 'This sandbox has too many connections open; close some first.');
    }
    const { allowed, retryAfterSeconds } = buckets.take(identity.sandboxId, now());
    if (allowed) return identity;
    throw new AppError('rate_limited', `Too many requests; try again in ${retryAfterSeconds} s.`);
  };
}

/** Anthropic's clients have a header of their own for their key. */
function keyIn({ headers }: IncomingMessage, header: CredentialHeader): string | null {
  const key = headers['x-api-key'];
  return header === 'authorization' && typeof key === 'string' && /^[\x21-\x7e]{1,512}$/.test(key)
    ? key
    : null;
}

/** The bearer token, or the password of basic credentials, whatever the user name. */
export function secretIn(header: string | undefined): string | null {
  const [, scheme = '', value = ''] = /^(bearer|basic) +([\x21-\x7e]{1,1024})$/i.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  const pair = Buffer.from(value, 'base64').toString();
  const secret = pair.slice(pair.indexOf(':') + 1);
  return pair.includes(':') && /^[\x21-\x7e]{1,512}$/.test(secret) ? secret : null;
}
