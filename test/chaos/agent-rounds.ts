import { setTimeout as delay } from 'node:timers/promises';
import { commandOf, processesOf } from '../world/live.ts';
import type { Acknowledged, Fleet } from './fleet.ts';
import { pick, type Random } from './random.ts';
import { inspect, listLiving, settle } from './settle.ts';

const TOOL_LIMIT_MS = 60_000;
/** A tool of a real agent is waited for, so that the kill comes while it runs. */
const TOOL_SECONDS = 1;
const victims = ['agent', 'agent', 'agent', 'engine', 'sandbox', 'service', 'database'] as const;

/**
 * One round with a real agent: two messages are sent, somebody is killed in the middle of the tool of the first one, and
 * when all has settled, nothing may be lost, doubled, stuck or left over.
 */
export async function playAgentRound(fleet: Fleet, random: Random): Promise<string> {
  const [living] = await listLiving(fleet);
  const replicaId = living?.id ?? (await fleet.createReplica());
  await settle(fleet);
  const coding_agent = pick(random, ['claude', 'codex'] as const);
  const victim = pick(random, victims);
  const killAfterMs = random() * TOOL_SECONDS * 1_000;
  const [first] = [await send(), await send()];
  const sandboxId = await untilInTool(fleet, first);
  await delay(killAfterMs);
  await kill();
  await settle(fleet);
  await inspect(fleet);
  return `${coding_agent} in a tool with ${victim} killed after ${Math.round(killAfterMs)} ms`;

  async function send(): Promise<Acknowledged> {
    const command = (marker: string) => `sleep ${TOOL_SECONDS}; echo ${marker} >> ~/ledger`;
    const sent = await fleet.sendMessage(replicaId, { coding_agent }, command);
    if (!sent) throw new Error(`the replica ${replicaId} takes no message`);
    return sent;
  }

  async function kill(): Promise<void> {
    if (victim === 'service') await fleet.killService();
    else if (victim === 'database') await fleet.killDatabase();
    else
      fleet.killSandbox(
        sandboxId,
        ({ agent: 'agents', engine: 'engine', sandbox: 'whole' } as const)[victim],
      );
  }
}

/** Waits until a command of the message runs, and says in which sandbox. */
async function untilInTool(fleet: Fleet, { replicaId, marker }: Acknowledged): Promise<string> {
  const giveUpAt = performance.now() + TOOL_LIMIT_MS;
  for (;;) {
    const [row] = await fleet.query<{ id: string }>('select id from sandbox where replica_id = $1', [
      replicaId,
    ]);
    if (row && processesOf(row.id).some((pid) => commandOf(pid).includes(marker))) return row.id;
    if (performance.now() > giveUpAt)
      throw new Error(`no tool was used within ${TOOL_LIMIT_MS} ms\n${fleet.serviceLog().slice(-3_000)}`);
    await delay(20);
  }
}
