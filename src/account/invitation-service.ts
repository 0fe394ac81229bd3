import { randomUUID } from 'node:crypto';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { refusing } from '../db/violation.ts';
import type { Caller, Role } from './caller.ts';
import type { Identity } from './identity.ts';
import { EmailTakenError } from './identity-error.ts';
import * as invitations from './invitation-store.ts';
import * as store from './store.ts';

type Parts = { identity: Pick<Identity, 'within'>; now: () => Date };

const VALID_MS = 7 * 24 * 60 * 60 * 1000;
const MAX_PENDING = 500;

export function createInvitationService({ identity, now }: Parts) {
  async function create(
    db: Db,
    caller: Caller & { personId: string },
    wanted: { email: string; role: Role },
  ) {
    const { organizationId } = caller;
    await store.lockOrganization(db, organizationId);
    const known = await store.selectPersonByEmail(db, wanted.email);
    if (known && (await store.selectRole(db, { organizationId, personId: known.id }))) {
      throw new AppError('already_exists', `${wanted.email} is a member already.`);
    }
    await invitations.deleteExpiredInvitations(db, { organizationId, email: wanted.email, at: now() });
    if ((await invitations.countPendingInvitations(db, organizationId)) >= MAX_PENDING) {
      throw new AppError(
        'limit_reached',
        `At most ${MAX_PENDING} invitations can be open; withdraw one first.`,
      );
    }
    const at = now();
    return refusing(alreadyInvited(wanted.email), () =>
      invitations.insertInvitation(db, {
        // Random, not by time: the id is what lets the invited person in.
        id: randomUUID(),
        organization_id: organizationId,
        email: wanted.email,
        role: wanted.role,
        status: 'pending',
        inviter_id: caller.personId,
        expires_at: new Date(at.getTime() + VALID_MS),
        created_at: at,
      }),
    );
  }

  async function list(db: Db, caller: Caller, page: store.Page) {
    const [rows, total] = await Promise.all([
      invitations.selectPendingInvitations(db, caller.organizationId, page),
      invitations.countPendingInvitations(db, caller.organizationId),
    ]);
    return { rows, total };
  }

  async function remove(db: Db, caller: Caller, id: string): Promise<void> {
    const { organizationId } = caller;
    if (!(await invitations.deletePendingInvitation(db, { organizationId, id }))) throw unusable();
  }

  /** Makes the person, with a password of theirs, and the membership. */
  async function accept(
    db: Db,
    wanted: { invitationId: string; email: string; name: string; password: string },
  ) {
    const invitation = await invitations.lockPendingInvitation(db, wanted.invitationId);
    const isUsable = invitation && invitation.expires_at > now() && invitation.email === wanted.email;
    if (!isUsable) throw unusable();
    const organization = await store.selectOrganization(db, invitation.organization_id);
    if (!organization) throw unusable();
    if (await store.selectPersonByEmail(db, wanted.email)) throw personExists(wanted.email);

    const { email, name, password } = wanted;
    const role = invitation.role as Role;
    const enrolment = identity.within(db);
    const personId = await enrolment.signUp({ email, name, password }).catch((error) => {
      // Another invitation of the same address, from another organization, was accepted at the same moment.
      throw error instanceof EmailTakenError ? personExists(email) : error;
    });
    await enrolment.addMember({ organizationId: organization.id, personId, role });
    await invitations.markAccepted(db, invitation.id);
    return { organization, person: { id: personId, name, email }, role };
  }

  return { create, list, remove, accept };
}

/** One answer for what is absent, expired, used, of another organization or for another address. */
function unusable(): AppError {
  return new AppError('not_found', 'Invitation not found, expired or used; ask an admin for a new one.');
}

function personExists(email: string): AppError {
  return new AppError(
    'already_exists',
    `${email} has an account already; sign in and accept with POST /v1/auth/organization/accept-invitation.`,
  );
}

const alreadyInvited = (email: string) => ({
  invitation_pending_key: () =>
    new AppError('already_exists', `${email} has an open invitation; withdraw it to make a new one.`),
});
