import { type Caller, callerName } from '../account/caller.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { Authenticate } from '../http/admit.ts';
import type { TokenBuckets } from '../http/token-bucket.ts';
import { publicStatus } from '../replica/lifecycle.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import type { PreviewTarget } from './address.ts';
import { sessionsIn } from './cookies.ts';
import type { Passes } from './pass.ts';
import { RetryLaterError } from './retry-later.ts';
import type { PreviewRow, PreviewService } from './service.ts';

type Parts = {
  db: Db;
  previews: Pick<PreviewService, 'read'>;
  replicas: Pick<ReplicaService, 'read'>;
  passes: Passes;
  authenticate: Authenticate;
  buckets: TokenBuckets;
};

export type Visit = {
  target: PreviewTarget;
  headers: { authorization?: string | undefined; cookie?: string | undefined };
  /** Where the request comes from. */
  address: string;
};

/** What was found out about a request that may go on. */
export type Admitted = {
  preview: PreviewRow;
  replica: ReplicaRow;
  /** The credential was for the service and is not for the program. */
  dropsAuthorization: boolean;
};

const keyStart = 'rs_';

/**
 * Decides who may see a preview: anyone, when it is public; a browser that has opened a link; a caller of its
 * organization. Who shows nothing learns nothing, not even whether there is such a preview.
 */
export function createDoor({ db, previews, replicas, passes, authenticate, buckets }: Parts) {
  async function admit({ target, headers, address }: Visit): Promise<Admitted> {
    const bearer = bearerIn(headers.authorization);
    const caller = await count(address, bearer);
    const found = await find(target);
    const dropsAuthorization = caller !== null || (bearer?.startsWith(keyStart) ?? false);
    if (found && (found.preview.is_public || hasSession(found.preview, headers.cookie)))
      return { ...found, dropsAuthorization };
    if (!caller) {
      const sentence =
        'This preview is not public: send an API key as "Authorization: Bearer <key>", or open a link to it.';
      throw new AppError('unauthenticated', sentence);
    }
    if (!found || found.replica.organization_id !== caller.organizationId) throw notFound('Preview');
    return { ...found, dropsAuthorization };
  }

  /** Begins the session of a browser that opens a link; gives back its pass. */
  async function enter({ target, address }: Visit): Promise<string> {
    await count(address, null);
    const found = await find(target);
    if (!found || !passes.isValid('link', found.preview, target.token ?? '')) {
      throw new AppError('unauthenticated', 'This link is not valid, or no longer; ask for a new one.');
    }
    return passes.issue('session', found.preview).pass;
  }

  /** Counts a request for its caller, or for its address. An address that has used up its share is not listened to. */
  async function count(address: string, bearer: string | null): Promise<Caller | null> {
    const name = `address:${address}`;
    const isHeard = !buckets.isEmpty(name, performance.now());
    const caller = bearer !== null && isHeard ? await authenticate(bearer) : null;
    const { allowed, retryAfterSeconds } = buckets.take(
      caller ? callerName(caller) : name,
      performance.now(),
    );
    if (allowed) return caller;
    const sentence = `Too many requests; try again in ${retryAfterSeconds} s.`;
    throw new RetryLaterError('rate_limited', sentence, retryAfterSeconds);
  }

  async function find({ replicaId, port }: PreviewTarget) {
    const [preview, replica] = await Promise.all([
      previews.read(db, { replicaId, port }),
      replicas.read(db, replicaId),
    ]);
    return preview && replica && publicStatus[replica.state] !== null ? { preview, replica } : null;
  }

  function hasSession(preview: PreviewRow, cookie: string | undefined): boolean {
    return sessionsIn(cookie).some((session) => passes.isValid('session', preview, session));
  }

  return { admit, enter };
}

function bearerIn(header: string | undefined): string | null {
  return /^Bearer ([\x21-\x7e]{1,4096})$/i.exec(header ?? '')?.[1] ?? null;
}
