import { existsSync } from 'node:fs';
import { orAbort } from '../../or-abort.ts';
import { type Agent, AgentFailure, type AgentSession, ConversationLost, type SessionSpec } from '../agent.ts';
import { objectAt, textAt } from '../json-fields.ts';
import { createOpencodeClient, type OpencodeClient, OpencodeRefusal } from './opencode-client.ts';
import { readOpencodeCommands } from './opencode-commands.ts';
import { opencodeConfig } from './opencode-config.ts';
import { createOpencodeEar } from './opencode-ear.ts';
import {
  opencodeDatabase,
  removeOpencodeDatabase,
  stopOpencodeInstalls,
  writeOpencodeInstructions,
} from './opencode-home.ts';
import { opencodeLaunch } from './opencode-launch.ts';
import { chooseModel, readModels, USUAL_MODEL } from './opencode-model.ts';
import { type RetryLimits, usualRetryLimits } from './opencode-retry.ts';
import { startOpencodeServer } from './opencode-server.ts';
import { workWithOpencode } from './opencode-turn.ts';

/** OpenCode, with a server of its own for every chat. */
export function createOpencodeAgent({
  retryLimits = usualRetryLimits,
}: {
  retryLimits?: RetryLimits;
} = {}): Agent {
  return {
    name: 'opencode',
    forget: removeOpencodeDatabase,
    async open(spec, signal) {
      const { context, folder, resume } = spec;
      const database = opencodeDatabase(context.home, spec.chatId);
      if (resume !== null && !existsSync(database)) throw new ConversationLost(LOST);
      stopOpencodeInstalls(context.home);
      const server = await startOpencodeServer({ ...launch(spec, database), folder }, signal);
      try {
        const client = createOpencodeClient({ ...server, log: context.log });
        return await orAbort(converse(client), signal);
      } catch (error) {
        await server.close();
        signal.throwIfAborted();
        if (error instanceof AgentFailure || error instanceof ConversationLost) throw error;
        throw new AgentFailure('OpenCode ended while it was being started.', {
          kind: 'agent_died',
          cause: error,
        });
      }

      async function converse(client: OpencodeClient): Promise<AgentSession> {
        const [id, providers, listed] = await Promise.all([
          openConversation(client, resume),
          client.ask({ method: 'GET', path: '/config/providers' }),
          client.ask({ method: 'GET', path: '/command' }),
          startMcpServers(client),
        ]);
        const models = readModels(objectAt({ providers }, 'providers'));
        const commands = readOpencodeCommands(listed);
        const ear = createOpencodeEar(client);
        ear.open();
        const conversation = { id, client, ear, server, models, commands, retryLimits };
        return {
          id,
          fits: (request) => chooseModel(request, models) !== null,
          work: (turn) => workWithOpencode(turn, conversation),
          commands,
          pid: server.pid,
          ended: server.ended,
          async close() {
            ear.close();
            await server.close();
          },
        };
      }
    },
  };
}

export const opencodeAgent: Agent = createOpencodeAgent();

const LOST = 'OpenCode does not know the conversation.';

function launch(spec: SessionSpec, database: string) {
  const { modelUrl, modelKey, mcpServers, systemPrompt, request, context } = spec;
  const config = opencodeConfig({
    modelUrl,
    modelKey,
    model: request.model ?? USUAL_MODEL,
    instructions: writeOpencodeInstructions(context.home, systemPrompt),
    mcpServers,
  });
  return opencodeLaunch(spec, { config, database, architecture: process.arch });
}

async function openConversation(client: OpencodeClient, resume: string | null): Promise<string> {
  if (resume === null) {
    // With a title of its own it asks no model for one.
    const made = await client.ask({ method: 'POST', path: '/session', body: { title: 'Chat' } });
    return textAt(objectAt({ made }, 'made'), 'id');
  }
  try {
    await client.ask({ method: 'GET', path: `/session/${encodeURIComponent(resume)}` });
    return resume;
  } catch (cause) {
    if (cause instanceof OpencodeRefusal && cause.status < 500) throw new ConversationLost(LOST, { cause });
    throw cause;
  }
}

/** They are started by the first word about them, and so before the first message. A slow one is not waited for. */
async function startMcpServers(client: OpencodeClient): Promise<void> {
  await client.ask({ method: 'GET', path: '/mcp', limitMs: MCP_MS }).catch(() => {});
}

const MCP_MS = 5_000;
