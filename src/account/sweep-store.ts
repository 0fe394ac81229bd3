import type { Db } from '../db/database.ts';

/** Well above what a process may miss before it forgets all keys, see credential-watch.ts. */
const KEEP_CHANGES_MS = 60 * 60_000;

/** Removes what has run out and nobody will ask for again. */
export async function deleteExpired(db: Db, at: Date): Promise<void> {
  const before = new Date(at.getTime() - KEEP_CHANGES_MS);
  await db.deleteFrom('credential_change').where('changed_at', '<', before).execute();
  await db.deleteFrom('login_session').where('expires_at', '<', at).execute();
  // A device that still polls is told that its code ran out, so the row stays for a while.
  await db.deleteFrom('device_code').where('expires_at', '<', before).execute();
  await db.deleteFrom('login_verification').where('expires_at', '<', at).execute();
  // One row for each address and path that was ever counted; the longest count goes over a minute.
  await db.deleteFrom('login_attempt').where('last_request', '<', before.getTime()).execute();
}
