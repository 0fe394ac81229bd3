import { orAbort } from '../../or-abort.ts';
import type { Agent, AgentSession, JsonObject, SessionSpec } from '../agent.ts';
import { startAgentProcess } from '../agent-process.ts';
import { objectAt, textAt } from '../json-fields.ts';
import { answerCodex } from './codex-approval.ts';
import { codexLaunch } from './codex-launch.ts';
import { codexMcpServers } from './codex-mcp-servers.ts';
import { openRollout } from './codex-rollout.ts';
import { createCodexRpc } from './codex-rpc.ts';
import { openCodexThread } from './codex-thread.ts';
import { type CodexWork, createCodexWork } from './codex-work.ts';

/**
 * Codex as its app server: one process for each conversation, which is told everything that may change from one message
 * to the next while it runs.
 */
export const codexAgent: Agent = { name: 'codex', open };

async function open(spec: SessionSpec, signal: AbortSignal): Promise<AgentSession> {
  const { resume, mcpServers, environment, folder, context } = spec;
  const { servers, leftOut } = codexMcpServers(mcpServers, Object.keys(environment));
  // Who goes on with a conversation has been told.
  const notices = (resume === null ? leftOut : []).map(
    (name) => `The MCP server ${name} is left out: codex does not speak to servers by SSE.`,
  );
  const failedServers = new Set<string>();
  let work: CodexWork | null = null;
  const agent = await startAgentProcess({
    ...codexLaunch(spec),
    folder,
    log: context.log,
    onMessage: (message) => hear(message),
  });
  const rpc = createCodexRpc(agent);
  try {
    signal.throwIfAborted();
    const thread = await orAbort(openCodexThread(rpc, spec, servers), signal);
    const rollout = await openRollout(thread.file);
    const hasLocalServers = Object.values(mcpServers).some(({ transport }) => transport === 'stdio');
    const running = createCodexWork({ agent, rpc, thread, rollout, hasLocalServers });
    work = running;
    return {
      id: thread.id,
      fits: () => true,
      async work(turn) {
        const passNotices = async () => {
          for (const text of notices.splice(0)) await turn.delta({ type: 'notice', text });
        };
        await passNotices();
        await running.run(turn).finally(passNotices);
      },
      commands: thread.commands,
      pid: agent.pid,
      ended: agent.ended.then(running.idle),
      close: agent.close,
    };
  } catch (error) {
    await agent.close();
    throw error;
  }

  async function hear(message: JsonObject): Promise<void> {
    const method = textAt(message, 'method');
    const params = objectAt(message, 'params');
    if (method === '') return rpc.hear(message);
    if (message.id !== undefined) return rpc.answer(message.id, answerCodex(method, params));
    if (method === 'mcpServer/startupStatus/updated' && params.status === 'failed')
      noteFailedServer(textAt(params, 'name'));
    await work?.hear(method, params);
  }

  /** Codex starts its servers anew now and then; the user need not hear each time that one of them fails. */
  function noteFailedServer(name: string): void {
    if (!failedServers.has(name)) notices.push(`The MCP server ${name} cannot be used: it did not start.`);
    failedServers.add(name);
  }
}
