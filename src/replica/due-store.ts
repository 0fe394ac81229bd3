import { sql } from 'kysely';
import type { Db } from '../db/database.ts';

type Due = { id: string };

/** Active replicas whose time to sleep has come and that nobody works in. */
export function selectSleepDue(db: Db, at: Date): Promise<Due[]> {
  return db
    .selectFrom('replica')
    .select('id')
    .where('state', '=', 'active')
    .where('sleep_due_at', '<=', at)
    .where(isIdle)
    .limit(100)
    .execute();
}

export function selectDeleteDue(db: Db, at: Date): Promise<Due[]> {
  return db
    .selectFrom('replica')
    .select('id')
    .where('state', 'not in', ['deleting', 'deleted'])
    .where('delete_due_at', '<=', at)
    .where((eb) => eb.or([eb('state', '!=', 'active'), isIdle]))
    .limit(100)
    .execute();
}

/** Replicas that owe work nobody has moved on since `before`. */
export function selectStalled(db: Db, before: Date): Promise<(Due & { host_id: string })[]> {
  return db
    .selectFrom('replica')
    .select(['id', 'host_id'])
    .where('state', 'in', ['preparing', 'falling_asleep', 'waking', 'archiving', 'failed', 'deleting'])
    .where((eb) => eb.or([eb('state', '!=', 'failed'), eb('sandbox_id', 'is not', null)]))
    .where('progress_at', '<', before)
    .limit(100)
    .execute();
}

/** Active replicas of other hosts that were not heard of for so long. */
export function selectStranded(db: Db, wanted: { hostId: string; silentSeconds: number }): Promise<Due[]> {
  return db
    .selectFrom('replica')
    .leftJoin('runtime_host', 'runtime_host.id', 'replica.host_id')
    .select('replica.id')
    .where('replica.state', '=', 'active')
    .where('replica.host_id', '!=', wanted.hostId)
    .where((eb) =>
      eb.or([
        eb('runtime_host.id', 'is', null),
        eb('runtime_host.seen_at', '<', sql<Date>`now() - make_interval(secs => ${wanted.silentSeconds})`),
      ]),
    )
    .limit(100)
    .execute();
}

const isIdle = sql<boolean>`not exists (
  select from message where message.replica_id = replica.id and message.state in ('queued', 'running'))`;

/** Something of a replica moved on; written at most every few seconds, since it is asked for with every event. */
export async function touchProgress(
  db: Db,
  touched: { id: string; at: Date; olderThan: Date },
): Promise<void> {
  await db
    .updateTable('replica')
    .set({ progress_at: touched.at })
    .where('id', '=', touched.id)
    .where('progress_at', '<', touched.olderThan)
    .execute();
}
