import type { Logger } from 'pino';
import type { CodingAgent } from '../contract/message.ts';
import { programFolder } from './catalog.ts';
import { AgentInstallError, installAgent, isInstalled } from './install.ts';

type Parts = { folder: string; log: Logger };

/** How long an installation that has failed is not tried again. */
const RETRY_MS = 60_000;

export type AgentPrograms = ReturnType<typeof createAgentPrograms>;

/** The programs of agents on this machine; each is installed when it is first needed. */
export function createAgentPrograms({ folder, log }: Parts) {
  const installing = new Map<CodingAgent, Promise<void>>();
  const failed = new Map<CodingAgent, { atMs: number; sentence: string }>();
  const stopping = new AbortController();

  async function install(agent: CodingAgent): Promise<void> {
    try {
      const onProgress = (line: string) => log.info({ agent }, `agent.install ${line}`);
      await installAgent({ agent, folder, onProgress, signal: stopping.signal });
      failed.delete(agent);
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.error({ agent, err: error }, 'agent.install_failed');
      const sentence =
        error instanceof AgentInstallError
          ? error.message
          : `${agent} could not be installed on this machine.`;
      failed.set(agent, { atMs: performance.now(), sentence });
    } finally {
      installing.delete(agent);
    }
  }

  return {
    folder,
    folderOf: programFolder,
    isInstalled: (agent: CodingAgent) => isInstalled(agent, folder),

    /** Whether the agent can run now; if not, its installation has begun, or why that failed. */
    request(agent: CodingAgent): 'installed' | 'installing' | { failed: string } {
      if (isInstalled(agent, folder)) return 'installed';
      const failure = failed.get(agent);
      if (failure && performance.now() - failure.atMs < RETRY_MS) return { failed: failure.sentence };
      if (!installing.has(agent)) installing.set(agent, install(agent));
      return 'installing';
    },

    async close(): Promise<void> {
      stopping.abort(new Error('the service stops'));
      await Promise.all(installing.values());
    },
  };
}
