import type { codingAgentOperations } from '../contract/coding-agent.ts';
import type { Handlers } from '../http/handler.ts';
import type { CodingAgent, CodingAgentService } from './service.ts';

export function codingAgentHandlers(agents: CodingAgentService): Handlers<typeof codingAgentOperations> {
  return {
    async listCodingAgents({ db, caller }) {
      const all = await agents.list(db, caller);
      return { status: 200, body: { coding_agents: all.map(present) } };
    },
    async getCodingAgent({ db, caller, params }) {
      return { status: 200, body: { coding_agent: present(await agents.read(db, caller, params.agent)) } };
    },
    async setCodingAgent({ db, caller, params, body }) {
      const { api_key: apiKey, base_url: baseUrl = null } = body;
      const agent = await agents.set(db, caller, { agent: params.agent, apiKey, baseUrl });
      return { status: 200, body: { coding_agent: present(agent) } };
    },
    async deleteCodingAgent({ db, caller, params }) {
      await agents.remove(db, caller, params.agent);
      return { status: 200, body: { success: true } };
    },
  };
}

function present(agent: CodingAgent) {
  return {
    agent: agent.agent,
    configured: agent.configured,
    api_key_hint: agent.apiKeyHint,
    base_url: agent.baseUrl,
    updated_at: agent.updatedAt?.toISOString() ?? null,
  };
}
