import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import type { SlashCommand } from '../engine/protocol.ts';

export async function upsertCommands(
  db: Db,
  row: { replicaId: string; agent: CodingAgent; commands: readonly SlashCommand[]; at: Date },
): Promise<void> {
  const change = { commands: JSON.stringify(row.commands), updated_at: row.at };
  await db
    .insertInto('agent_command')
    .values({ replica_id: row.replicaId, agent: row.agent, ...change })
    .onConflict((conflict) => conflict.columns(['replica_id', 'agent']).doUpdateSet(change))
    .execute();
}

export async function selectCommands(
  db: Db,
  key: { replicaId: string; agent: CodingAgent },
): Promise<SlashCommand[]> {
  const row = await db
    .selectFrom('agent_command')
    .select('commands')
    .where('replica_id', '=', key.replicaId)
    .where('agent', '=', key.agent)
    .executeTakeFirst();
  // Written by the function above only.
  return (row?.commands ?? []) as SlashCommand[];
}
