import type { Db } from '../../src/db/database.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';

type Wanted = {
  organizationId: string;
  state: ReplicaState;
  coding_agent?: string;
  lifecycle_policy?: string;
  sandbox_id?: string;
  host_id?: string;
};

/** Puts a replica straight into its state. Without `host_id` it is on a host of its own, and no worker acts for it. */
export async function insertReplica(db: Db, { organizationId, ...wanted }: Wanted): Promise<string> {
  const id = newId();
  const at = new Date();
  await db
    .insertInto('replica')
    .values({
      id,
      organization_id: organizationId,
      name: 'test',
      source: 'api',
      incarnation: 1,
      coding_agent: 'claude',
      lifecycle_policy: 'default',
      host_id: wanted.host_id ?? (await insertHost(db)),
      progress_at: at,
      created_at: at,
      updated_at: at,
      ...wanted,
    })
    .execute();
  return id;
}

/** A host that is never found silent, so that no other takes its replicas over. */
async function insertHost(db: Db): Promise<string> {
  const id = newId();
  await db
    .insertInto('runtime_host')
    .values({ id, seen_at: new Date('2100-01-01T00:00:00Z') })
    .execute();
  return id;
}
