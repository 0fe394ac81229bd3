import type { Caller } from '../account/caller.ts';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { Sender } from './message-store.ts';
import { selectMember } from './sender-store.ts';

type Named = { senderUserId?: string | undefined; senderEmail?: string | undefined };

/** What people see in place of a person where an org key speaks for nobody. */
const NOBODY: Sender = { userId: null, email: null, displayName: 'Service bot' };

/** Who a message is from. A person speaks for themselves; an org key may say for whom it speaks. */
export async function senderOf(db: Db, caller: Caller, named: Named): Promise<Sender> {
  const { organizationId, personId } = caller;
  const { senderUserId, senderEmail } = named;
  if (personId) {
    if (senderUserId === undefined && senderEmail === undefined)
      return personOf(db, { organizationId, personId });
    throw new AppError(
      'invalid_request',
      'senderUserId and senderEmail are for org API keys; a message of a person is always their own.',
    );
  }
  if (senderUserId !== undefined) {
    const member = await selectMember(db, { organizationId, personId: senderUserId });
    if (!member) throw new AppError('invalid_request', 'senderUserId names no member of the organization.');
    return shown(member);
  }
  if (senderEmail === undefined) return NOBODY;
  const email = senderEmail.toLowerCase();
  const member = await selectMember(db, { organizationId, email });
  return member ? shown(member) : { userId: null, email, displayName: email };
}

/** The person, or nobody when there is none or no longer. */
export async function personOf(
  db: Db,
  key: { organizationId: string; personId: string | null },
): Promise<Sender> {
  const { organizationId, personId } = key;
  const member = personId ? await selectMember(db, { organizationId, personId }) : undefined;
  return member ? shown(member) : NOBODY;
}

function shown({ id, name, email }: { id: string; name: string; email: string }): Sender {
  return { userId: id, email, displayName: name || email };
}
