import { sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { HookRunRow } from './store.ts';

/** A replica, and the warm workspace as which it began. */
export type LogOwner = { replicaId: string; warmWorkspaceId: string | null };

/** The latest runs of each phase that have begun: warm ones first, then start ones, each in the order in which they ran. */
export function selectLogs(db: Db, owner: LogOwner, perPhase: number): Promise<HookRunRow[]> {
  return db
    .selectFrom('hook_run')
    .selectAll()
    .where('id', 'in', listed(db, owner, perPhase).select('ranked.id'))
    .orderBy(sql`phase = 'start'`)
    .orderBy('created_at')
    .orderBy('position')
    .orderBy('id')
    .execute();
}

/** The run that stands at this place of the list above. */
export async function selectLogId(
  db: Db,
  owner: LogOwner,
  place: { perPhase: number; index: number },
): Promise<string | null> {
  const row = await listed(db, owner, place.perPhase)
    .select('ranked.id')
    .orderBy(sql`phase = 'start'`)
    .orderBy('age', 'desc')
    .offset(place.index)
    .limit(1)
    .executeTakeFirst();
  return row?.id ?? null;
}

function listed(db: Db, owner: LogOwner, perPhase: number) {
  return db
    .selectFrom((eb) =>
      eb
        .selectFrom('hook_run')
        .select([
          'id',
          'phase',
          sql<number>`row_number() over (partition by phase order by created_at desc, position desc, id desc)`.as(
            'age',
          ),
        ])
        .where('executed_at', 'is not', null)
        .where((or) =>
          or.or([
            or('replica_id', '=', owner.replicaId),
            ...(owner.warmWorkspaceId ? [or('warm_workspace_id', '=', owner.warmWorkspaceId)] : []),
          ]),
        )
        .as('ranked'),
    )
    .where('age', '<=', perPhase);
}

/** Whether hooks of a replica's latest boot have yet to end. */
export async function hasUnfinishedRuns(db: Db, replicaId: string): Promise<boolean> {
  const row = await db
    .selectFrom('hook_run')
    .select('id')
    .where('replica_id', '=', replicaId)
    .where('status', '!=', 'finished')
    // All runs of one boot are planned at the same moment.
    .where('created_at', '=', (eb) =>
      eb
        .selectFrom('hook_run as planned')
        .select((inner) => inner.fn.max('planned.created_at').as('latest'))
        .where('planned.replica_id', '=', replicaId),
    )
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export type OutputPlace = { position: number; seq: number };

/** What the hooks of a warm workspace have written after a place, in the order in which they run. */
export function selectWorkspaceOutput(
  db: Db,
  wanted: { warmWorkspaceId: string; after: OutputPlace; limit: number },
): Promise<(OutputPlace & { text: string })[]> {
  return db
    .selectFrom('hook_run')
    .innerJoin('hook_output', 'hook_output.hook_run_id', 'hook_run.id')
    .select(['hook_run.position', 'hook_output.seq', 'hook_output.text'])
    .where('hook_run.warm_workspace_id', '=', wanted.warmWorkspaceId)
    .where(
      sql<boolean>`(hook_run.position, hook_output.seq) > (${wanted.after.position}, ${wanted.after.seq})`,
    )
    .orderBy('hook_run.position')
    .orderBy('hook_output.seq')
    .limit(wanted.limit)
    .execute();
}
