import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';
import { anyOf, type RepositoryRow, rowColumns } from './store.ts';

export type CheckProgress = {
  id: string;
  organization_id: string;
  checks_requested: number;
  checks_settled: number;
  checked_at: Date | null;
};

/** Numbers a new check. */
export async function countCheck(db: Db, id: string): Promise<void> {
  await db
    .updateTable('repository')
    .set({ checks_requested: sql<number>`checks_requested + 1` })
    .where('id', '=', id)
    .execute();
}

/** Numbers a new check and shows that it goes on. */
export function announceCheck(db: Db, id: string): Promise<RepositoryRow> {
  return db
    .updateTable('repository')
    .set({ checks_requested: sql<number>`checks_requested + 1`, status: 'checking', error: null })
    .where('id', '=', id)
    .returning(rowColumns)
    .executeTakeFirstOrThrow();
}

export function selectProgress(
  db: Db,
  wanted: { ids: readonly string[]; organizationId?: string },
): Promise<CheckProgress[]> {
  let query = db
    .selectFrom('repository')
    .select(['id', 'organization_id', 'checks_requested', 'checks_settled', 'checked_at'])
    .where('id', '=', anyOf(wanted.ids));
  if (wanted.organizationId) query = query.where('organization_id', '=', wanted.organizationId);
  return query.orderBy('id').execute();
}

export function selectForCheck(db: Db, id: string): Promise<RepositoryRow | undefined> {
  return db.selectFrom('repository').select(rowColumns).where('id', '=', id).executeTakeFirst();
}

/** Other reports and changes of the repository wait; binding it does not. */
export function lockForReport(db: Db, id: string): Promise<RepositoryRow | undefined> {
  return db
    .selectFrom('repository')
    .select(rowColumns)
    .where('id', '=', id)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

type Columns = Selectable<DB['repository']>;
export type Settlement = Pick<Columns, 'status' | 'error' | 'checks_settled' | 'checked_at'> &
  Partial<Pick<Columns, 'default_branch' | 'head_commit'>> & { configuration?: string; skills?: string };

/** `configuration` and `skills` are JSON texts, because the driver would send a list as an SQL array. */
export async function settleCheck(db: Db, id: string, settlement: Settlement): Promise<void> {
  await db.updateTable('repository').set(settlement).where('id', '=', id).execute();
}

/** Repositories whose last check is older than `before`, longest waiting first; those another process holds are left out. */
export function lockDue(
  db: Db,
  wanted: { before: Date; limit: number },
): Promise<Pick<RepositoryRow, 'id' | 'organization_id'>[]> {
  const due = sql<Date>`coalesce(checked_at, created_at)`;
  return db
    .selectFrom('repository')
    .select(['id', 'organization_id'])
    .where(due, '<', wanted.before)
    .orderBy(due)
    .limit(wanted.limit)
    .forNoKeyUpdate()
    .skipLocked()
    .execute();
}
