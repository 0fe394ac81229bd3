import { randomUUID } from 'node:crypto';
import type { CursorAgentOptions, CursorSdk } from '../../../src/engine/agents/cursor/cursor-sdk.ts';
import { createStandInAgent } from './agent.ts';
import { models } from './catalog.ts';
import { SdkError } from './errors.ts';
import type { Conversation, SqliteLocalAgentStore } from './sqlite.ts';

/**
 * A stand-in for `@cursor/sdk`, as far as its public interface is used. The real one works only with the internet and an
 * account: its model is at Cursor. This one is a small agent in its place, which asks the scripted model that the variables
 * STAND_IN_MODEL_URL and STAND_IN_MODEL_KEY lead to. Its tools are real: commands run, files change, MCP servers are
 * called. How the real one talks to Cursor it does not know.
 */

const settings = { useHttp1ForAgent: false };

export const Agent: CursorSdk<SqliteLocalAgentStore>['Agent'] = {
  async create(options) {
    checkKey(options);
    const conversation: Conversation = {
      agentId: `agent-${randomUUID()}`,
      cwd: options.local.cwd,
      activeRunId: null,
      messages: [],
    };
    options.local.store.save(conversation);
    return createStandInAgent(conversation, { options, settings });
  },
  async resume(agentId, options) {
    checkKey(options);
    const conversation = options.local.store.load(agentId);
    if (conversation?.cwd !== options.local.cwd)
      throw new SdkError('AgentNotFoundError', `Agent ${agentId} not found`, { code: 'agent_not_found' });
    return createStandInAgent(conversation, { options, settings });
  },
};

export const Cursor: CursorSdk['Cursor'] = {
  configure: ({ local }) => void Object.assign(settings, local),
  models: {
    async list(options) {
      checkKey(options);
      return models;
    },
  },
};

function checkKey({ apiKey }: Pick<CursorAgentOptions, 'apiKey'>): void {
  if (apiKey.startsWith('refused'))
    throw new SdkError('AuthenticationError', `Invalid API key ${apiKey}.`, { status: 401 });
}
