import type { Db } from '../db/database.ts';
import { addContacts, type ContactCount } from './store.ts';

type Contact = { host: string; port: number; allowed: boolean; reason: string };

/** Different contacts that wait to be written; a sandbox that tries more in between is not recorded further. */
const MAX_WAITING = 5_000;
/** Different contacts kept of one replica. */
const MAX_KEPT = 2_000;

/** Counts what sandboxes contact, so that a thousand requests to one host are one row, and writes it now and then. */
export function createContactLog({ db, now }: { db: Db; now: () => Date }) {
  let waiting = new Map<string, ContactCount>();

  function record(replicaId: string | null, contact: Contact): void {
    if (!replicaId) return;
    const { host, port, allowed, reason } = contact;
    const key = `${replicaId} ${host} ${port} ${allowed}`;
    const at = now();
    const known = waiting.get(key);
    if (known) {
      waiting.set(key, { ...known, times: known.times + 1, last_at: at });
    } else if (waiting.size < MAX_WAITING) {
      const count = { replica_id: replicaId, host, port, is_allowed: allowed, reason, times: 1 };
      waiting.set(key, { ...count, first_at: at, last_at: at });
    }
  }

  async function write(): Promise<void> {
    if (waiting.size === 0) return;
    const counts = [...waiting.values()];
    waiting = new Map();
    await addContacts(db, counts, MAX_KEPT);
  }

  return { record, write };
}
