import { type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { AwakeStretch } from '../db/schema.ts';

/** Opens a stretch unless one is open. */
export async function openStretch(
  db: Db,
  stretch: {
    id: string;
    organization_id: string;
    replica_id: string;
    source: string;
    rate_micros: number;
    started_at: Date;
  },
): Promise<void> {
  await db
    .insertInto('awake_stretch')
    .values(stretch)
    .onConflict((conflict) => conflict.column('replica_id').where('ended_at', 'is', null).doNothing())
    .execute();
}

/** Closes the open stretch, if any; never before it began, whatever a clock says. */
export async function closeStretch(db: Db, closed: { replicaId: string; at: Date }): Promise<void> {
  await db
    .updateTable('awake_stretch')
    .set({ ended_at: sql<Date>`greatest(started_at, ${closed.at}::timestamptz)` })
    .where('replica_id', '=', closed.replicaId)
    .where('ended_at', 'is', null)
    .execute();
}

/** Stretches that are at least partly within a window, some after the other: give the last one to go on after it. */
export function selectStretches(
  db: Db,
  wanted: {
    organizationId: string;
    window: { start: Date; end: Date };
    after: { started_at: Date; id: string } | null;
    limit: number;
  },
): Promise<Selectable<AwakeStretch>[]> {
  const { after, window } = wanted;
  let query = db
    .selectFrom('awake_stretch')
    .selectAll()
    .where('organization_id', '=', wanted.organizationId)
    .where('started_at', '<', window.end)
    .where((eb) => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>', window.start)]))
    .orderBy('started_at')
    .orderBy('id')
    .limit(wanted.limit);
  if (after) query = query.where(sql<boolean>`(started_at, id) > (${after.started_at}, ${after.id})`);
  return query.execute();
}
