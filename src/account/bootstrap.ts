import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { ApiKeyService } from './api-key-service.ts';
import type { Identity } from './identity.ts';
import { hasOrganization } from './store.ts';

export type FirstStart = {
  organizationId: string;
  apiKey: string;
  admin: { email: string; password: string };
};

type Parts = {
  db: Db;
  identity: Pick<Identity, 'within'>;
  apiKeys: Pick<ApiKeyService, 'create'>;
  /**
   * Writes the credentials where the operator finds them, replacing what a start that was cut short has left. It is
   * called before the commit: a crash after it leaves a file that the next start replaces, never an organization
   * whose keys nobody has.
   */
  persist: (result: FirstStart) => Promise<void>;
};

/** Any number; processes that start together take turns by it. */
const LOCK_KEY = 7_070_002;
const ADMIN_EMAIL = 'admin@replica.localhost';

/** Makes the first organization with an admin and an org API key; null when there is an organization. */
export async function bootstrapFirstOrganization(parts: Parts): Promise<FirstStart | null> {
  if (await hasOrganization(parts.db)) return null;
  return transact(parts.db, async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK_KEY})`.execute(tx);
    if (await hasOrganization(tx)) return null;
    const made = await create(tx, parts);
    await parts.persist(made);
    return made;
  });
}

async function create(tx: Db, { identity, apiKeys }: Parts): Promise<FirstStart> {
  const admin = { email: ADMIN_EMAIL, password: randomBytes(18).toString('base64url') };
  const enrolment = identity.within(tx);
  const creatorId = await enrolment.signUp({ ...admin, name: 'Admin' });
  const organizationId = await enrolment.createOrganization({
    name: 'Default',
    slug: 'default',
    creatorId,
  });
  const { key } = await apiKeys.create(
    tx,
    { organizationId, personId: null },
    { name: 'First key', createdBy: creatorId },
  );
  return { organizationId, apiKey: key, admin };
}
