import type { accountOperations } from '../contract/account.ts';
import type { Handlers } from '../http/handler.ts';
import type { ApiKeyRow } from './api-key-store.ts';
import type { Caller, Role } from './caller.ts';
import type { InvitationRow } from './invitation-store.ts';
import type { AccountService } from './service.ts';
import type { MemberRow, Page } from './store.ts';

export function accountHandlers(accounts: AccountService): Handlers<typeof accountOperations> {
  const { apiKeys, invitations } = accounts;
  return {
    async getCaller({ db, caller }) {
      const { organization, person, apiKey, role } = await accounts.describeCaller(db, caller);
      return { status: 200, body: { organization, person, api_key: apiKey && presentKey(apiKey), role } };
    },
    async createPersonalApiKey({ db, caller, body }) {
      const made = await apiKeys.create(db, ownKeys(caller), { ...body, createdBy: caller.personId });
      return { status: 201, body: { api_key: presentKey(made.row), key: made.key } };
    },
    async listPersonalApiKeys({ db, caller, query }) {
      const { rows, total } = await apiKeys.list(db, ownKeys(caller), query);
      return { status: 200, body: { api_keys: rows.map(presentKey), ...pageOf(query, total) } };
    },
    async deletePersonalApiKey({ db, caller, params }) {
      await apiKeys.remove(db, ownKeys(caller), params.apiKeyId);
      return { status: 200, body: { success: true } };
    },
    async createOrgApiKey({ db, caller, body }) {
      const made = await apiKeys.create(db, orgKeys(caller), { ...body, createdBy: caller.personId });
      return { status: 201, body: { api_key: presentKey(made.row), key: made.key } };
    },
    async listOrgApiKeys({ db, caller, query }) {
      const { rows, total } = await apiKeys.list(db, orgKeys(caller), query);
      return { status: 200, body: { api_keys: rows.map(presentKey), ...pageOf(query, total) } };
    },
    async deleteOrgApiKey({ db, caller, params }) {
      await apiKeys.remove(db, orgKeys(caller), params.apiKeyId);
      return { status: 200, body: { success: true } };
    },
    async listMembers({ db, caller, query }) {
      const { rows, total } = await accounts.listMembers(db, caller, query);
      return { status: 200, body: { members: rows.map(presentMember), ...pageOf(query, total) } };
    },
    async updateMember({ db, caller, params, body }) {
      const row = await accounts.updateMember(db, caller, { personId: params.userId, role: body.role });
      return { status: 200, body: { member: presentMember(row) } };
    },
    async removeMember({ db, caller, params }) {
      await accounts.removeMember(db, caller, params.userId);
      return { status: 200, body: { success: true } };
    },
    async createInvitation({ db, caller, body }) {
      const row = await invitations.create(db, caller, body);
      return { status: 201, body: { invitation: presentInvitation(row) } };
    },
    async listInvitations({ db, caller, query }) {
      const { rows, total } = await invitations.list(db, caller, query);
      return { status: 200, body: { invitations: rows.map(presentInvitation), ...pageOf(query, total) } };
    },
    async deleteInvitation({ db, caller, params }) {
      await invitations.remove(db, caller, params.invitationId);
      return { status: 200, body: { success: true } };
    },
    async acceptInvitation({ db, params, body }) {
      return { status: 201, body: await invitations.accept(db, { ...params, ...body }) };
    },
  };
}

const ownKeys = ({ organizationId, personId }: Caller) => ({ organizationId, personId });
const orgKeys = ({ organizationId }: Caller) => ({ organizationId, personId: null });

function pageOf({ page, limit }: Page, total: number) {
  return { total, page, limit, total_pages: Math.ceil(total / limit) };
}

function presentKey(row: ApiKeyRow) {
  return {
    id: row.id,
    name: row.name,
    prefix: row.prefix,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
  };
}

function presentMember(row: MemberRow) {
  return { ...row, created_at: row.created_at.toISOString() };
}

function presentInvitation(row: InvitationRow) {
  return {
    id: row.id,
    email: row.email,
    role: row.role as Role,
    status: row.expires_at > new Date() ? ('pending' as const) : ('expired' as const),
    invited_by: row.inviter_id,
    expires_at: row.expires_at.toISOString(),
    created_at: row.created_at.toISOString(),
  };
}
