import type { accountOperations } from '../../../src/contract/account.ts';
import type { codingAgentOperations } from '../../../src/contract/coding-agent.ts';
import type { usageOperations } from '../../../src/contract/usage.ts';
import { fill } from '../fill.ts';
import { emptyOrganization } from '../full.ts';
import type { Refusals } from '../refusal.ts';

type Accounts = typeof accountOperations & typeof codingAgentOperations & typeof usageOperations;

export const accountRefusals: Refusals<Accounts> = {
  createPersonalApiKey: {
    limit_reached: async (f) => {
      const { org, admin } = await emptyOrganization(f);
      await fill(f.stage.world.pool, 'api_key', { organization_id: org.id, person_id: admin.id });
      return { body: { name: 'one more' }, by: admin.call };
    },
  },
  createOrgApiKey: {
    limit_reached: async (f) => {
      const { org, admin } = await emptyOrganization(f);
      await fill(f.stage.world.pool, 'api_key', { organization_id: org.id });
      return { body: { name: 'one more' }, by: admin.call };
    },
  },
  updateMember: {
    last_admin: async (f) => ({ params: { userId: f.admin.id }, body: { role: 'member' } }),
  },
  removeMember: {
    last_admin: async (f) => ({ params: { userId: f.admin.id } }),
  },
  createInvitation: {
    already_exists: async (f) => ({ body: { email: f.member.email } }),
    limit_reached: async (f) => {
      const { org, admin } = await emptyOrganization(f);
      await fill(f.stage.world.pool, 'invitation', { organization_id: org.id, inviter_id: admin.id });
      return { body: { email: 'one.more@example.com' }, by: admin.call };
    },
  },
  acceptInvitation: {
    already_exists: async (f) => {
      const { admin: known } = await emptyOrganization(f);
      const invitationId = await f.make('/v1/organization/invitations', { email: known.email }, 'admin');
      return {
        params: { invitationId },
        body: { email: known.email, name: 'Again', password: 'correct horse' },
      };
    },
  },
};
