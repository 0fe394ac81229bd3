import { randomUUID } from 'node:crypto';
import { orAbort } from '../../or-abort.ts';
import type { McpServer, SlashCommand } from '../../protocol.ts';
import {
  type Agent,
  type AgentSession,
  ConversationLost,
  type JsonObject,
  type SessionSpec,
} from '../agent.ts';
import { type AgentProcess, startAgentProcess } from '../agent-process.ts';
import { objectAt, objectsAt, textAt } from '../json-fields.ts';
import { type ClaudeControl, createClaudeControl } from './claude-control.ts';
import { claudeLaunch } from './claude-launch.ts';
import { createClaudeWork } from './claude-work.ts';

/**
 * Claude Code as one process for each chat, which takes messages as lines of JSON and is told everything else in control
 * requests: model, effort, mode and MCP servers change without a new start.
 */
export const claudeAgent: Agent = { name: 'claude', open };

async function open(spec: SessionSpec, signal: AbortSignal): Promise<AgentSession> {
  let id = spec.resume ?? randomUUID();
  const launch = claudeLaunch(spec, {
    conversation: id,
    isResumed: spec.resume !== null,
    isRoot: process.getuid?.() === 0,
  });
  const agent = await startAgentProcess({
    ...launch,
    folder: spec.folder,
    log: spec.context.log,
    onMessage: (message) => hear(message),
  });
  const control = createClaudeControl(agent);
  const work = createClaudeWork({ agent, control });
  try {
    const commands = await orAbort(introduce(control, spec), signal);
    const notices = await orAbort(connectServers(control, spec.mcpServers), signal);
    return {
      get id() {
        return id;
      },
      fits: () => true,
      async work(turn) {
        for (const text of notices.splice(0)) await turn.delta({ type: 'notice', text });
        await work.run(turn);
      },
      commands,
      pid: agent.pid,
      ended: agent.ended,
      close: agent.close,
    };
  } catch (error) {
    await agent.close();
    throw isLost(agent) ? new ConversationLost('claude has no such conversation', { cause: error }) : error;
  }

  async function hear(message: JsonObject): Promise<void> {
    if (message.type === 'control_response') return control.hear(message);
    // A conversation that the user clears goes on under another name.
    if (message.type === 'system' && message.subtype === 'init') id = textAt(message, 'session_id') || id;
    await work.hear(message);
  }
}

const INTRODUCTION_MS = 30_000;
const CONNECTION_MS = 15_000;

function isLost(agent: AgentProcess): boolean {
  return agent.lastWords().includes('No conversation found');
}

async function introduce(control: ClaudeControl, { systemPrompt }: SessionSpec): Promise<SlashCommand[]> {
  const prompt = systemPrompt === null ? {} : { appendSystemPrompt: systemPrompt };
  const answer = await control.ask({ subtype: 'initialize', ...prompt }, INTRODUCTION_MS);
  return objectsAt(answer, 'commands')
    .map((command) => ({
      command: textAt(command, 'name'),
      description: textAt(command, 'description').slice(0, 2_000),
      argumentHint: textAt(command, 'argumentHint').slice(0, 500) || null,
    }))
    .filter(({ command }) => /^[A-Za-z0-9][\w:.-]{0,198}$/.test(command));
}

/** Resolves with what the user should know about servers that do not answer: the conversation goes on without them. */
async function connectServers(
  control: ClaudeControl,
  mcpServers: Record<string, McpServer>,
): Promise<string[]> {
  const servers = Object.fromEntries(
    Object.entries(mcpServers).map(([name, { transport: type, ...server }]) => [name, { type, ...server }]),
  );
  try {
    const answer = await control.ask({ subtype: 'mcp_set_servers', servers }, CONNECTION_MS);
    return Object.keys(objectAt(answer, 'errors')).map((name) => `The MCP server ${name} cannot be used.`);
  } catch {
    return ['The MCP servers cannot be used: they take too long to answer.'];
  }
}
