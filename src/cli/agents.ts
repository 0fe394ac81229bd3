import { Command } from 'commander';
import { agentNames, agentVersion } from '../agent-program/catalog.ts';
import { AgentInstallError, installAgent, isInstalled } from '../agent-program/install.ts';
import { loadConfig } from '../config.ts';
import { codingAgent } from '../contract/message.ts';
import { CommandError } from './error.ts';

export function agentsCommand(): Command {
  const agents = new Command('agents').description('The coding agents that sandboxes can run.');
  agents
    .command('list')
    .description('Which agents there are, their versions, and whether they are installed here.')
    .action(() => {
      const { agentsDir } = loadConfig(process.env);
      for (const agent of agentNames) {
        const state = isInstalled(agent, agentsDir) ? 'installed' : 'installed on first use';
        console.log(`${agent.padEnd(10)}${agentVersion(agent).padEnd(12)}${state}`);
      }
    });
  agents
    .command('install')
    .description('Install agents now, so that their first message does not wait for it.')
    .argument('[name...]', `${agentNames.join(', ')}; all when none is named`)
    .action(async (names: string[]) => {
      const { agentsDir: folder } = loadConfig(process.env);
      const unknown = names.filter((name) => !codingAgent.safeParse(name).success);
      if (unknown.length > 0)
        throw new CommandError(
          `there is no agent ${unknown.join(', ')}; there are ${agentNames.join(', ')}.`,
        );
      const stopping = new AbortController();
      for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
      const wanted = names.length === 0 ? agentNames : agentNames.filter((name) => names.includes(name));
      for (const agent of wanted) {
        if (isInstalled(agent, folder)) {
          console.log(`${agent} ${agentVersion(agent)} is installed already.`);
          continue;
        }
        const onProgress = (line: string) => console.error(line);
        await installAgent({ agent, folder, onProgress, signal: stopping.signal }).catch((error: unknown) => {
          if (stopping.signal.aborted) throw new CommandError('stopped; nothing half-installed is left.');
          if (error instanceof AgentInstallError) throw new CommandError(error.message);
          throw error;
        });
      }
    });
  return agents;
}
