import type { Contacts, Tracking } from './tracking.ts';

type Contact = { host: string; port: number; allowed: boolean };

/** Replicas whose contacts wait to be looked at, and hosts of one of them; what is beyond is not looked at. */
const MAX_REPLICAS = 5_000;
const MAX_TARGETS = 100;

/** Gathers what sandboxes contact, since they may do so a thousand times in a second, and passes it on now and then. */
export function createContactWatch({ onContacts }: Pick<Tracking, 'onContacts'>) {
  let waiting = new Map<string, { organizationId: string; targets: Set<string> }>();

  function record(
    { replicaId, organizationId }: { replicaId: string | null; organizationId: string },
    { host, port, allowed }: Contact,
  ): void {
    if (!replicaId || !allowed) return;
    const known = waiting.get(replicaId);
    const target = `${host}:${port}`;
    if (!known && waiting.size < MAX_REPLICAS)
      waiting.set(replicaId, { organizationId, targets: new Set([target]) });
    else if (known && known.targets.size < MAX_TARGETS) known.targets.add(target);
  }

  async function pass(): Promise<void> {
    if (waiting.size === 0) return;
    const contacts: Contacts[] = [...waiting].map(([replicaId, rest]) => ({ replicaId, ...rest }));
    waiting = new Map();
    await onContacts(contacts);
  }

  return { record, pass };
}
