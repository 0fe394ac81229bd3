import { setTimeout as delay } from 'node:timers/promises';
import type { Fleet } from './fleet.ts';
import { pick, type Random } from './random.ts';
import { inspect, listLiving, settle } from './settle.ts';

/** How many replicas live at once. */
const MOST_REPLICAS = 5;

/**
 * One round: something is asked for, somebody is killed at a random moment of it, and when all has settled, nothing may
 * be lost, doubled, stuck or left over.
 */
export async function playRound(fleet: Fleet, random: Random): Promise<string> {
  const replicas = await listLiving(fleet);
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
      await fleet.sendMessage(id);
      return;
    case 'messages':
      // Two agents are two chats, which work beside each other.
      for (const coding_agent of ['claude', 'codex', 'claude', 'codex'])
        await fleet.sendMessage(id, { coding_agent });
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
  if (found) fleet.killSandbox(found.id, victim === 'sandbox' ? 'whole' : 'engine');
}
