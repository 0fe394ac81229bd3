import { setTimeout as delay } from 'node:timers/promises';
import { type Fleet, foldersOf } from './fleet.ts';

type Random = () => number;
type Replica = { id: string; state: string; sandbox_id: string | null };

/** How many replicas live at once. */
const MOST_REPLICAS = 5;
const SETTLE_LIMIT_MS = 120_000;

/**
 * One round: something is asked for, somebody is killed at a random moment of it, and when all has settled, nothing may
 * be lost, doubled, stuck or left over.
 */
export async function playRound(fleet: Fleet, random: Random): Promise<string> {
  const replicas = await living(fleet);
  const action = pick(random, actionsFor(replicas.length));
  const victim = pick(random, ['service', 'engine', 'sandbox', 'database'] as const);
  const subject = pick(random, replicas.length > 0 ? replicas : [null]);
  const acting = act(fleet, action, subject?.id ?? '');
  const killAfterMs = random() * 600;
  await delay(killAfterMs);
  await kill(fleet, victim, { random, subjectId: subject?.id ?? null });
  await acting;
  await settle(fleet);
  await inspect(fleet);
  return `${action} with ${victim} killed after ${Math.round(killAfterMs)} ms`;
}

type Action = 'create' | 'message' | 'messages' | 'sleep' | 'wake' | 'delete' | 'hook';

function actionsFor(count: number): Action[] {
  if (count === 0) return ['create'];
  const usual: Action[] = ['message', 'messages', 'sleep', 'wake', 'hook'];
  return count >= MOST_REPLICAS
    ? [...usual, 'delete', 'delete']
    : [...usual, 'create', 'create', 'create', 'delete'];
}

async function act(fleet: Fleet, action: Action, id: string): Promise<void> {
  const { insist, environmentId } = fleet;
  switch (action) {
    case 'create':
      await fleet.createReplica();
      return;
    case 'message':
      return fleet.sendMessage(id);
    case 'messages':
      for (let i = 0; i < 4; i++) await fleet.sendMessage(id);
      return;
    case 'sleep':
      await insist('POST', `/v1/workspaces/${id}/sleep`);
      return;
    case 'wake':
      await insist('POST', `/v1/replica/${id}/wake`);
      return;
    case 'delete':
      await insist('DELETE', `/v1/replica/${id}`);
      return;
    case 'hook':
      // The test itself may be cut off; its sandbox must go all the same.
      await Promise.race([
        insist('POST', `/v1/environments/${environmentId}/start-hooks/test`, {
          content: 'sleep 0.3; echo x',
        }),
        delay(20_000),
      ]);
  }
}

async function kill(
  fleet: Fleet,
  victim: 'service' | 'engine' | 'sandbox' | 'database',
  { random, subjectId }: { random: Random; subjectId: string | null },
): Promise<void> {
  if (victim === 'service') return fleet.killService();
  if (victim === 'database') return fleet.killDatabase();
  const rows = await fleet.query<{ id: string; replica_id: string | null }>(
    'select id, replica_id from sandbox',
  );
  const own = rows.filter(({ replica_id }) => replica_id === subjectId);
  const found = pick(random, own.length > 0 ? own : rows);
  if (found) fleet.killSandbox(found.id, victim === 'sandbox');
}

function living(fleet: Fleet): Promise<Replica[]> {
  return fleet.query<Replica>(
    `select id, state, sandbox_id from replica where state not in ('deleting', 'deleted', 'failed') order by id`,
  );
}

/** Waits until nothing is on its way: no state that owes work, no message under way, no sandbox too many. */
async function settle(fleet: Fleet): Promise<void> {
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
async function inspect(fleet: Fleet): Promise<void> {
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

/** At the end: each message that is called done was done once, none twice, and in the order of its chat. */
export async function compareLedgers(fleet: Fleet): Promise<{ completed: number; failed: number }> {
  const counts = { completed: 0, failed: 0 };
  for (const { id } of await living(fleet)) {
    const sent = await fleet.insist('POST', `/v1/replica/${id}/messages`, {
      message: `SCRIPT:${JSON.stringify([{ run: 'cat ~/ledger' }])}`,
    });
    await settle(fleet);
    const [entry] = await fleet.query<{ payload: { output: string } }>(
      `select payload from history_entry where message_id = $1 and type = 'scripted-tool'`,
      [sent.body.message_id],
    );
    const ledger = (entry?.payload.output ?? '').split('\n').filter(Boolean);
    const rows = await fleet.query<{ id: string; state: string }>(
      'select id, state from message where replica_id = $1 order by created_at, id',
      [id],
    );
    const expected = rows.flatMap((row) => {
      const own = fleet.messages.find(({ messageId }) => messageId === row.id);
      return own ? [{ ...row, marker: own.marker }] : [];
    });
    counts.completed += expected.filter(({ state }) => state === 'completed').length;
    counts.failed += expected.filter(({ state }) => state !== 'completed').length;
    const known = expected.filter(({ marker, state }) => state === 'completed' || ledger.includes(marker));
    const written = known.map(({ marker }) => marker);
    if (JSON.stringify(written) !== JSON.stringify(ledger)) {
      throw new Error(`the ledger of ${id} is\n${ledger.join('\n')}\nand should be\n${written.join('\n')}`);
    }
  }
  return counts;
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}
