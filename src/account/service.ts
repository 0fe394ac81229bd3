import { randomBytes } from 'node:crypto';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { createApiKeyService } from './api-key-service.ts';
import { selectApiKey } from './api-key-store.ts';
import type { Caller, Role } from './caller.ts';
import type { Identity } from './identity.ts';
import { createInvitationService } from './invitation-service.ts';
import * as store from './store.ts';

type Parts = {
  identity: Pick<Identity, 'within'>;
  /** Ends what somebody had in an organization for themselves alone, in the transaction in which they leave it. */
  onMemberRemoved: (db: Db, of: { organizationId: string; personId: string }) => Promise<void>;
  newId: () => string;
  now: () => Date;
};

export type AccountService = ReturnType<typeof createAccountService>;

export function createAccountService({ identity, onMemberRemoved, newId, now }: Parts) {
  async function describeCaller(db: Db, caller: Caller) {
    const { organizationId, personId, keyId, role } = caller;
    const [organization, person, apiKey] = await Promise.all([
      store.selectOrganization(db, organizationId),
      personId ? store.selectPerson(db, personId) : null,
      keyId ? selectApiKey(db, { organizationId, id: keyId }) : null,
    ]);
    if (!organization) throw notFound('Organization');
    return { organization, person: person ?? null, apiKey: apiKey ?? null, role };
  }

  async function listMembers(db: Db, caller: Caller, page: store.Page) {
    const [rows, total] = await Promise.all([
      store.selectMembers(db, caller.organizationId, page),
      store.countMembers(db, caller.organizationId),
    ]);
    return { rows, total };
  }

  async function updateMember(db: Db, caller: Caller, change: { personId: string; role: Role }) {
    const member = await holdMember(db, caller, change.personId);
    if (member.role === 'admin' && change.role !== 'admin') await requireAnotherAdmin(db, caller);
    await store.updateRole(db, { organizationId: caller.organizationId, ...change });
    return { ...member, role: change.role };
  }

  async function removeMember(db: Db, caller: Caller, personId: string): Promise<void> {
    const member = await holdMember(db, caller, personId);
    if (member.role === 'admin') await requireAnotherAdmin(db, caller);
    const of = { organizationId: caller.organizationId, personId };
    await store.deleteMember(db, of);
    await onMemberRemoved(db, of);
  }

  return {
    describeCaller,
    listMembers,
    updateMember,
    removeMember,
    apiKeys: createApiKeyService({ newId, now, randomBytes }),
    invitations: createInvitationService({ identity, now }),
  };
}

/** Changes of members come one after the other, so that two admins cannot remove each other at the same time. */
async function holdMember(db: Db, { organizationId }: Caller, personId: string): Promise<store.MemberRow> {
  await store.lockOrganization(db, organizationId);
  const member = await store.selectMember(db, { organizationId, personId });
  if (!member) throw notFound('Member');
  return member;
}

async function requireAnotherAdmin(db: Db, { organizationId }: Caller): Promise<void> {
  if ((await store.countMembers(db, organizationId, 'admin')) > 1) return;
  throw new AppError(
    'last_admin',
    'An organization needs at least one admin; make somebody else admin first.',
  );
}
