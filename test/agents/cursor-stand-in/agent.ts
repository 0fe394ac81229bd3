import { randomUUID } from 'node:crypto';
import type {
  CursorAgentOptions,
  CursorModelSelection,
  CursorSdkAgent,
} from '../../../src/engine/agents/cursor/cursor-sdk.ts';
import { models } from './catalog.ts';
import { SdkError } from './errors.ts';
import { connectMcpServers, type McpTools } from './mcp.ts';
import { startRun } from './run.ts';
import type { Conversation, SqliteLocalAgentStore } from './sqlite.ts';

export function createStandInAgent(
  conversation: Conversation,
  {
    options,
    settings,
  }: { options: CursorAgentOptions<SqliteLocalAgentStore>; settings: { useHttp1ForAgent: boolean } },
): CursorSdkAgent {
  const { store } = options.local;
  let mcp: Promise<McpTools> | null = null;
  return {
    agentId: conversation.agentId,
    async send({ text, images = [] }, { model, mode, local }) {
      const selection = resolveModel(model);
      const { activeRunId, messages } = conversation;
      if (activeRunId !== null && !local.force)
        throw new SdkError('AgentBusyError', `Agent ${conversation.agentId} already has active run`);
      mcp ??= connectMcpServers(options.mcpServers);
      conversation.activeRunId = `run-${randomUUID()}`;
      closeCalls(conversation);
      const pictures = images.map(({ data, mimeType }) => ({
        type: 'image_url',
        image_url: { url: `data:${mimeType};base64,${data}` },
      }));
      messages.push({ role: 'user', content: [{ type: 'text', text }, ...pictures] });
      store.save(conversation);
      return startRun(conversation, {
        options,
        mcp: await mcp,
        request: {
          model: selection.id,
          mode,
          params: Object.fromEntries((selection.params ?? []).map(({ id, value }) => [id, value])),
          ...settings,
        },
      });
    },
    close: () => {},
  };
}

function resolveModel(selection: CursorModelSelection): CursorModelSelection {
  const found = models.find(({ id, aliases }) => id === selection.id || aliases?.includes(selection.id));
  if (found !== undefined) return { ...selection, id: found.id };
  const known = models.map(({ id }) => id).join(', ');
  throw new SdkError(
    'ConfigurationError',
    `Cannot use this model: ${selection.id}. Available models: ${known}.`,
  );
}

/** A tool that was running when the process was killed has said nothing, and a model wants an answer to each call. */
function closeCalls({ messages }: Conversation): void {
  const answered = new Set(messages.map(({ tool_call_id }) => tool_call_id));
  for (const { tool_calls = [] } of [...messages])
    for (const { id } of tool_calls)
      if (!answered.has(id))
        messages.push({ role: 'tool', tool_call_id: id, content: 'Tool execution aborted' });
}
