import { setTimeout as delay } from 'node:timers/promises';
import { type Fleet, foldersOf } from './fleet.ts';

type Replica = { id: string; state: string; sandbox_id: string | null };

const SETTLE_LIMIT_MS = 120_000;

/** The replicas of which something can be asked. */
export function listLiving(fleet: Fleet): Promise<Replica[]> {
  return fleet.query<Replica>(
    `select id, state, sandbox_id from replica where state not in ('deleting', 'deleted', 'failed') order by id`,
  );
}

/** Waits until nothing is on its way: no state that owes work, no message under way, no sandbox too many. */
export async function settle(fleet: Fleet): Promise<void> {
  const giveUpAt = performance.now() + SETTLE_LIMIT_MS;
  for (;;) {
    const open = await unsettled(fleet);
    if (open.length === 0) return;
    if (performance.now() > giveUpAt) {
      throw new Error(
        `not settled after ${SETTLE_LIMIT_MS} ms: ${open.join('; ')}\n${fleet.serviceLog().slice(-5_000)}`,
      );
    }
    await delay(50);
  }
}

async function unsettled(fleet: Fleet): Promise<string[]> {
  const moving = await fleet.query<Replica>(
    `select id, state, sandbox_id from replica
      where state in ('preparing', 'waking', 'falling_asleep', 'archiving', 'deleting')
         or (state = 'failed' and sandbox_id is not null)`,
  );
  const waiting = await fleet.query<{ id: string; state: string }>(
    `select message.id, message.state from message join replica on replica.id = replica_id
      where message.state in ('queued', 'running') and replica.state not in ('sleeping', 'archived', 'deleted')`,
  );
  const wanted = await fleet.query<{ id: string; removing: boolean }>(
    'select id, removing_at is not null as removing from sandbox',
  );
  const held = new Set(foldersOf(fleet.folder));
  const rows = new Set(wanted.map(({ id }) => id));
  return [
    ...moving.map(({ id, state }) => `replica ${id} is ${state}`),
    ...waiting.map(({ id, state }) => `message ${id} is ${state}`),
    ...wanted.filter(({ removing }) => removing).map(({ id }) => `sandbox ${id} is still to go`),
    ...[...held].filter((key) => !rows.has(key)).map((key) => `sandbox ${key} has no row`),
  ];
}

/** What must hold whenever all has settled. */
export async function inspect(fleet: Fleet): Promise<void> {
  const problems = [
    ...(await lostMessages(fleet)),
    ...(await wrongBills(fleet)),
    ...(await failedReplicas(fleet)),
  ];
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

async function lostMessages(fleet: Fleet): Promise<string[]> {
  const rows = await fleet.query<{ id: string }>('select id from message');
  const stored = new Set(rows.map(({ id }) => id));
  // What was said in a deleted replica is removed a while later.
  const gone = await fleet.query<{ id: string }>(`select id from replica where state = 'deleted'`);
  const deleted = new Set(gone.map(({ id }) => id));
  return fleet.messages
    .filter(({ messageId, replicaId }) => !stored.has(messageId) && !deleted.has(replicaId))
    .map(({ messageId }) => `message ${messageId} was acknowledged and is lost`);
}

/** Stretches of one replica never overlap, and one is open exactly while the replica is active. */
async function wrongBills(fleet: Fleet): Promise<string[]> {
  const overlapping = await fleet.query<{ replica_id: string }>(
    `select one.replica_id from awake_stretch as one join awake_stretch as other
        on other.replica_id = one.replica_id and other.id <> one.id
      where one.started_at < coalesce(other.ended_at, 'infinity') and other.started_at < coalesce(one.ended_at, 'infinity')
        and one.started_at <> other.started_at`,
  );
  const mismatched = await fleet.query<{ id: string; state: string }>(
    `select id, state from replica where (state = 'active') <> exists
       (select from awake_stretch where replica_id = replica.id and ended_at is null)`,
  );
  return [
    ...overlapping.map(({ replica_id }) => `stretches of ${replica_id} overlap`),
    ...mismatched.map(({ id, state }) => `replica ${id} is ${state} and its bill says otherwise`),
  ];
}

/** No kill is a reason to give a replica up. */
async function failedReplicas(fleet: Fleet): Promise<string[]> {
  const rows = await fleet.query<{ id: string; error_message: string }>(
    `select id, error_message from replica where state = 'failed'`,
  );
  return rows.map(({ id, error_message }) => `replica ${id} was given up: ${error_message}`);
}
