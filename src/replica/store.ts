import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { Replica, ReplicaRepository, ReplicaStep } from '../db/schema.ts';
import type { ReplicaState } from './lifecycle.ts';

export type ReplicaRow = Omit<Selectable<Replica>, 'state'> & { state: ReplicaState };
export type ReplicaRepositoryRow = Omit<
  Selectable<ReplicaRepository>,
  'diff' | 'is_diff_cut' | 'updated_at'
> & {
  /** Addresses of the pull requests that come from the replica. */
  pr_urls: string[];
};
export type ReplicaStepRow = Selectable<ReplicaStep>;
/** When a replica was used last, and what becomes of it when. */
export type Activity = Pick<ReplicaRow, 'last_activity_at'> &
  Partial<Pick<ReplicaRow, 'sleep_due_at' | 'delete_due_at'>>;
type Key = { organizationId: string; id: string };

export async function insertReplica(db: Db, row: Insertable<Replica>): Promise<ReplicaRow> {
  return typed(await db.insertInto('replica').values(row).returningAll().executeTakeFirstOrThrow());
}

export async function selectReplica(db: Db, { organizationId, id }: Key): Promise<ReplicaRow | undefined> {
  const row = await db
    .selectFrom('replica')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .executeTakeFirst();
  return row && typed(row);
}

/** Locks the row of the organization's replica. */
export async function lockOwnReplica(db: Db, { organizationId, id }: Key): Promise<ReplicaRow | undefined> {
  const row = await db
    .selectFrom('replica')
    .selectAll()
    .where('id', '=', id)
    .where('organization_id', '=', organizationId)
    .forUpdate()
    .executeTakeFirst();
  return row && typed(row);
}

export async function lockReplica(db: Db, id: string): Promise<ReplicaRow | undefined> {
  const row = await db.selectFrom('replica').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
  return row && typed(row);
}

export async function selectReplicaById(db: Db, id: string): Promise<ReplicaRow | undefined> {
  const row = await db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirst();
  return row && typed(row);
}

/** Changes the row if it is still the one that was read; undefined when it has moved on. */
export async function updateReplica(
  db: Db,
  key: { id: string; version: number },
  change: Updateable<Replica>,
): Promise<ReplicaRow | undefined> {
  const row = await db
    .updateTable('replica')
    .set(change)
    .where('id', '=', key.id)
    .where('version', '=', key.version)
    .returningAll()
    .executeTakeFirst();
  return row && typed(row);
}

export type ReplicaFilter = {
  organizationId: string;
  personId?: string | undefined;
  source?: string | undefined;
  states: ReplicaState[];
  order: 'created_at' | 'last_activity_at';
  limit: number;
  offset: number;
};

export async function selectReplicas(
  db: Db,
  filter: ReplicaFilter,
): Promise<{ rows: ReplicaRow[]; total: number }> {
  let matching = db
    .selectFrom('replica')
    .where('organization_id', '=', filter.organizationId)
    .where('state', 'in', filter.states);
  if (filter.personId) matching = matching.where('person_id', '=', filter.personId);
  if (filter.source) matching = matching.where('source', '=', filter.source);
  const [rows, counted] = await Promise.all([
    matching
      .selectAll()
      .orderBy(filter.order, (order) => order.desc().nullsLast())
      .orderBy('id', 'desc')
      .limit(filter.limit)
      .offset(filter.offset)
      .execute(),
    matching.select(sql<number>`count(*)::int`.as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows: rows.map(typed), total: counted.total };
}

/**
 * Takes the next numbers of a replica's events and writes them, and with them that it was used; nothing when the replica
 * is gone.
 */
export async function appendEvents(
  db: Db,
  appended: {
    replicaId: string;
    at: Date;
    events: readonly { type: string; payload: object }[];
    activity?: Activity;
  },
): Promise<void> {
  const { replicaId, at, events, activity = {} } = appended;
  const times = Object.entries(activity).map(([column, time]) => sql`, ${sql.ref(column)} = ${time}`);
  const types = events.map(({ type }) => type);
  const payloads = events.map(({ payload }) => JSON.stringify(payload));
  await sql`
    with counted as (
      update replica set event_seq = event_seq + ${events.length}${sql.join(times, sql``)}
       where id = ${replicaId}
      returning id, event_seq
    )
    insert into replica_event (replica_id, seq, at, type, payload)
    select counted.id, counted.event_seq - ${events.length} + said.position, ${at}::timestamptz, said.type, said.payload
      from counted,
           unnest(${types}::text[], ${payloads}::jsonb[]) with ordinality as said (type, payload, position)`.execute(
    db,
  );
}

export async function insertRepositories(db: Db, rows: Insertable<ReplicaRepository>[]): Promise<void> {
  if (rows.length === 0) return;
  await db.insertInto('replica_repository').values(rows).execute();
}

const pullRequestUrls = sql<string[]>`(
  select coalesce(array_agg(url order by number), '{}') from replica_pull_request
  where replica_pull_request.replica_id = replica_repository.replica_id
    and replica_pull_request.repository_id = replica_repository.repository_id
)`.as('pr_urls');

/** What replicas have checked out, in order. Diffs are large and only for who asks for them. */
export function selectRepositories(db: Db, replicaIds: readonly string[]): Promise<ReplicaRepositoryRow[]> {
  if (replicaIds.length === 0) return Promise.resolve([]);
  return db
    .selectFrom('replica_repository')
    .select([
      'replica_id',
      'repository_id',
      'position',
      'name',
      'url',
      'default_branch',
      'branch',
      'head_commit',
      'base_commit',
      'added',
      'removed',
      'start_hooks_completed',
      'shadow_problem',
      pullRequestUrls,
    ])
    .where('replica_id', 'in', replicaIds)
    .orderBy('position')
    .execute();
}

export async function selectDiffs(db: Db, replicaId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('replica_repository')
    .select(['repository_id', 'diff'])
    .where('replica_id', '=', replicaId)
    .execute();
  return new Map(rows.map(({ repository_id, diff }) => [repository_id, diff ?? '']));
}

export async function hasRepository(
  db: Db,
  key: { replicaId: string; repositoryId: string },
): Promise<boolean> {
  const row = await db
    .selectFrom('replica_repository')
    .select('position')
    .where('replica_id', '=', key.replicaId)
    .where('repository_id', '=', key.repositoryId)
    .executeTakeFirst();
  return row !== undefined;
}

export async function updateRepository(
  db: Db,
  key: { replicaId: string; repositoryId: string },
  change: Updateable<ReplicaRepository>,
): Promise<void> {
  await db
    .updateTable('replica_repository')
    .set(change)
    .where('replica_id', '=', key.replicaId)
    .where('repository_id', '=', key.repositoryId)
    .execute();
}

export async function insertSteps(db: Db, rows: Insertable<ReplicaStep>[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('replica_step').values(rows).execute();
}

/** The latest steps, in the order in which they were begun. */
export async function selectSteps(db: Db, replicaId: string): Promise<ReplicaStepRow[]> {
  const latest = await db
    .selectFrom('replica_step')
    .selectAll()
    .where('replica_id', '=', replicaId)
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(2_000)
    .execute();
  return latest.toReversed();
}

function typed(row: Selectable<Replica>): ReplicaRow {
  // The check constraint of the column allows nothing else.
  return row as ReplicaRow;
}
