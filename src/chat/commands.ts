import type { Caller } from '../account/caller.ts';
import type { CodingAgent } from '../contract/message.ts';
import type { Db } from '../db/database.ts';
import type { EngineReport, SlashCommand } from '../engine/protocol.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { hasGoals } from './agent.ts';
import { selectCommands, upsertCommands } from './command-store.ts';
import { type ChatKey, findChat } from './queue.ts';

type Parts = { replicas: Pick<ReplicaService, 'find'>; now: () => Date };
type CommandReport = Extract<EngineReport, { type: 'agent.commands' }>['payload'];
/** What can be written after a slash in a chat, and which agents know it. */
export type ChatCommand = SlashCommand & { providers: CodingAgent[] };

export function createCommands({ replicas, now }: Parts) {
  return {
    /** What the service itself understands, then what the agent has said last, which is known while it sleeps too. */
    async list(db: Db, caller: Caller, key: ChatKey): Promise<ChatCommand[]> {
      const row = await replicas.find(db, caller, key.id);
      const { provider } = await findChat(db, row, key);
      const said = await selectCommands(db, { replicaId: row.id, agent: provider });
      const own = ownCommands.filter(({ command }) => command !== 'goal' || hasGoals(provider));
      const names = new Set(own.map(({ command }) => command));
      return [...own, ...said.filter(({ command }) => !names.has(command))].map((command) => ({
        ...command,
        providers: [provider],
      }));
    },

    async keep(db: Db, row: ReplicaRow, { agent, commands }: CommandReport): Promise<void> {
      if (agent === 'scripted') return;
      await upsertCommands(db, { replicaId: row.id, agent, commands, at: now() });
    },
  };
}

/** The words that `readLeadingWords` takes off a message. */
const ownCommands: readonly SlashCommand[] = [
  { command: 'plan', description: 'Plan only, and change nothing.', argumentHint: null },
  { command: 'goal', description: 'Work until this goal is reached.', argumentHint: null },
  { command: 'fast', description: 'Work in fast mode.', argumentHint: null },
];
