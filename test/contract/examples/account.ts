import type { accountOperations } from '../../../src/contract/account.ts';
import type { codingAgentOperations } from '../../../src/contract/coding-agent.ts';
import type { modelUsageOperations } from '../../../src/contract/model-usage.ts';
import type { sandboxTierOperations } from '../../../src/contract/sandbox-tier.ts';
import type { usageOperations } from '../../../src/contract/usage.ts';
import type { Examples } from '../example.ts';
import type { Fixture } from '../fixture.ts';

type Accounts = typeof accountOperations &
  typeof codingAgentOperations &
  typeof usageOperations &
  typeof modelUsageOperations &
  typeof sandboxTierOperations;

const invitation = (f: Fixture) => ({
  email: `${f.stage.unique('invited')}@example.com`,
  role: 'member' as const,
});

/** What is about the organization and its people. */
export const accountExamples: Examples<Accounts> = {
  listCodingAgents: () => ({}),
  getCodingAgent: () => ({ params: { agent: 'codex' } }),
  setCodingAgent: () => ({
    params: { agent: 'claude' },
    body: { api_key: 'sk-0123456789abcdef', base_url: 'https://models.example/v1' },
  }),
  getReplicaModelUsage: (f) => ({ params: { id: f.replicaId } }),
  setReplicaModelBudget: (f) => ({ params: { id: f.replicaId }, body: { amount_usd: 12.5 } }),
  getModelBudget: () => ({}),
  setModelBudget: () => ({ body: { monthly_usd: 100 } }),
  deleteModelBudget: () => ({}),
  getSandboxTier: () => ({}),
  setSandboxTier: () => ({ body: { size: 'large' } }),
  deleteCodingAgent: () => ({ params: { agent: 'claude' } }),

  getUsage: () => ({ query: { start: '2026-07-01', end: '2026-08-01T00:00:00Z', group_by: 'replica' } }),

  getCaller: () => ({}),
  createPersonalApiKey: (f) => ({ body: { name: f.stage.unique('key') } }),
  listPersonalApiKeys: () => ({ query: { page: 1, limit: 100 } }),
  deletePersonalApiKey: async (f, as) => ({
    params: { apiKeyId: await f.make('/v1/user/api-keys', { name: 'short-lived' }, as) },
  }),
  createOrgApiKey: (f) => ({ body: { name: f.stage.unique('key') } }),
  listOrgApiKeys: () => ({ query: {} }),
  deleteOrgApiKey: async (f) => ({
    params: { apiKeyId: await f.make('/v1/organization/api-keys', { name: 'short-lived' }, 'admin') },
  }),
  listMembers: () => ({ query: { page: '1' } }),
  updateMember: (f) => ({ params: { userId: f.member.id }, body: { role: 'member' } }),
  removeMember: async (f) => ({ params: { userId: (await f.stage.world.person(f.org, 'member')).id } }),
  createInvitation: (f) => ({ body: invitation(f) }),
  listInvitations: () => ({ query: {} }),
  deleteInvitation: async (f) => ({
    params: { invitationId: await f.make('/v1/organization/invitations', invitation(f), 'admin') },
  }),
  acceptInvitation: async (f) => {
    const invited = invitation(f);
    const invitationId = await f.make('/v1/organization/invitations', invited, 'admin');
    return {
      params: { invitationId },
      body: { email: invited.email, name: 'Somebody New', password: 'correct horse' },
    };
  },
};
