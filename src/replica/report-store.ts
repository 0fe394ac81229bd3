import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

/** How many steps are kept of one start of a replica. */
export async function countSteps(db: Db, start: { replicaId: string; incarnation: number }): Promise<number> {
  const { total } = await db
    .selectFrom('replica_step')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('replica_id', '=', start.replicaId)
    .where('incarnation', '=', start.incarnation)
    .executeTakeFirstOrThrow();
  return total;
}

/** The present boot of a replica is done, and with it its start hooks. */
export async function completeStartHooks(db: Db, replicaId: string): Promise<void> {
  await db
    .updateTable('replica_repository')
    .set({ start_hooks_completed: true })
    .where('replica_id', '=', replicaId)
    .execute();
}
