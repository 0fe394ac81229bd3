import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';
import type { Page } from './store.ts';

export type InvitationRow = Selectable<DB['invitation']>;

export function selectPendingInvitations(db: Db, organizationId: string, { page, limit }: Page) {
  return pending(db, organizationId)
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute();
}

export async function countPendingInvitations(db: Db, organizationId: string): Promise<number> {
  const { total } = await pending(db, organizationId)
    .select(sql<number>`count(*)::int`.as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

export function insertInvitation(db: Db, row: Insertable<DB['invitation']>): Promise<InvitationRow> {
  return db.insertInto('invitation').values(row).returningAll().executeTakeFirstOrThrow();
}

/** Two who accept the same invitation come one after the other. */
export function lockPendingInvitation(db: Db, id: string): Promise<InvitationRow | undefined> {
  return db
    .selectFrom('invitation')
    .selectAll()
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .forUpdate()
    .executeTakeFirst();
}

export async function markAccepted(db: Db, id: string): Promise<void> {
  await db.updateTable('invitation').set({ status: 'accepted' }).where('id', '=', id).execute();
}

/** Says whether there was such an invitation. */
export async function deletePendingInvitation(
  db: Db,
  key: { organizationId: string; id: string },
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('invitation')
    .where('organization_id', '=', key.organizationId)
    .where('status', '=', 'pending')
    .where('id', '=', key.id)
    .returning('id')
    .executeTakeFirst();
  return deleted !== undefined;
}

/** Makes room for a new invitation of the same address. */
export async function deleteExpiredInvitations(
  db: Db,
  expired: { organizationId: string; email: string; at: Date },
): Promise<void> {
  await db
    .deleteFrom('invitation')
    .where('organization_id', '=', expired.organizationId)
    .where('email', '=', expired.email)
    .where('status', '=', 'pending')
    .where('expires_at', '<=', expired.at)
    .execute();
}

function pending(db: Db, organizationId: string) {
  return db
    .selectFrom('invitation')
    .where('organization_id', '=', organizationId)
    .where('status', '=', 'pending');
}
