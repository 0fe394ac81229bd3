import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Caller, callerName } from '../account/caller.ts';
import { AppError } from '../contract/error.ts';
import type { Access, Operation } from '../contract/operation.ts';
import type { TokenBuckets } from './token-bucket.ts';

/** Finds out who a bearer token speaks for; null when it is unknown, expired or malformed. */
export type Authenticate = (token: string) => Promise<Caller | null>;

/** Decides before the body is read who makes the request, whether they may, and whether too often. */
export function createAdmit(parts: { authenticate: Authenticate; buckets: TokenBuckets; now: () => number }) {
  return async function admit(
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    // Who shows no valid credential is counted by address. An address that has used up its share is not listened to
    // any more, so that guessing keys is slow and costs no reads.
    const address = `address:${request.ip}`;
    const isHeard = !parts.buckets.isEmpty(address, parts.now());
    const needsCaller = operation.access !== 'anyone' && isHeard;
    const caller = needsCaller ? await identify(parts.authenticate, request) : null;
    spend(reply, parts.buckets.take(caller ? callerName(caller) : address, parts.now()));
    request.caller = caller;
    const refusal = refuse(operation.access, caller);
    if (refusal) throw refusal;
  };
}

async function identify(authenticate: Authenticate, request: FastifyRequest): Promise<Caller | null> {
  const token = /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(request.headers.authorization ?? '')?.[1];
  return token ? authenticate(token) : null;
}

function spend(reply: FastifyReply, bucket: ReturnType<TokenBuckets['take']>): void {
  reply.header('ratelimit-limit', bucket.limit);
  reply.header('ratelimit-remaining', bucket.remaining);
  reply.header('ratelimit-reset', bucket.resetSeconds);
  if (bucket.allowed) return;
  reply.header('retry-after', bucket.retryAfterSeconds);
  throw new AppError('rate_limited', `Too many requests; try again in ${bucket.retryAfterSeconds} s.`);
}

/** Why this caller may not use an operation of this access, or null. A table test walks every pair. */
export function refuse(access: Access, caller: Caller | null): AppError | null {
  if (access === 'anyone') return null;
  if (!caller) {
    return new AppError('unauthenticated', 'Send a valid API key as "Authorization: Bearer <key>".');
  }
  const isPersonOnly = access === 'person' || access === 'admin_person';
  if (isPersonOnly && caller.kind !== 'person') {
    return new AppError(
      'unauthenticated',
      'This operation takes a person\'s JWT, not an API key; sign in with "replica login".',
    );
  }
  const isAdminOnly = access === 'admin' || access === 'admin_person';
  if (isAdminOnly && caller.role !== 'admin') {
    return new AppError('forbidden', 'Only admins of the organization may do this.');
  }
  return null;
}
