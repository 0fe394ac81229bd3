import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Db } from '../db/database.ts';
import type { AutomationExecution } from '../db/schema.ts';
import type { Fire } from './fire.ts';

export type ExecutionStatus = 'pending' | 'creating' | 'running' | 'completed' | 'failed';
export type ExecutionRow = Omit<Selectable<AutomationExecution>, 'status' | 'trigger_type'> & {
  status: ExecutionStatus;
  trigger_type: Fire['triggerType'];
};
/** A run that has begun and has not ended. */
export type OpenExecution = Pick<ExecutionRow, 'id' | 'automation_id'>;
/** The end of a message that its execution has not been told of. */
export type MissedEnd = OpenExecution & { state: string | null; error: string | null };

export const begun: readonly ExecutionStatus[] = ['creating', 'running'];
/** Runs of a schedule, and those that somebody asked for in between. */
const scheduled: Fire['triggerType'][] = ['cron', 'manual'];

/** Nothing when the automation has an execution of the same cause. */
export async function insertExecution(
  db: Db,
  row: Insertable<AutomationExecution>,
): Promise<ExecutionRow | undefined> {
  const inserted = await db
    .insertInto('automation_execution')
    .values(row)
    .onConflict((conflict) => conflict.constraint('automation_execution_cause_key').doNothing())
    .returningAll()
    .executeTakeFirst();
  return inserted && typed(inserted);
}

export async function selectExecution(db: Db, id: string): Promise<ExecutionRow | undefined> {
  const row = await db.selectFrom('automation_execution').selectAll().where('id', '=', id).executeTakeFirst();
  return row && typed(row);
}

/** The execution as long as it waits to begin, held until the transaction ends. */
export async function lockPending(db: Db, id: string): Promise<ExecutionRow | undefined> {
  const row = await db
    .selectFrom('automation_execution')
    .selectAll()
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .forUpdate()
    .executeTakeFirst();
  return row && typed(row);
}

export async function updateExecution(
  db: Db,
  id: string,
  change: Updateable<AutomationExecution>,
): Promise<void> {
  await db.updateTable('automation_execution').set(change).where('id', '=', id).execute();
}

/** False when it is in none of the statuses that are named, as when it has ended before. */
export async function endExecution(
  db: Db,
  end: {
    id: string;
    from: readonly ExecutionStatus[];
    status: 'completed' | 'failed';
    error: string | null;
    at: Date;
  },
): Promise<boolean> {
  const ended = await db
    .updateTable('automation_execution')
    .set({ status: end.status, error: end.error, completed_at: end.at })
    .where('id', '=', end.id)
    .where('status', 'in', end.from)
    .returning('id')
    .executeTakeFirst();
  return ended !== undefined;
}

/** The replica is awake: what waited for it is in work. */
export async function markRunning(db: Db, replicaId: string): Promise<void> {
  await db
    .updateTable('automation_execution')
    .set({ status: 'running' })
    .where('replica_id', '=', replicaId)
    .where('status', '=', 'creating')
    .execute();
}

export function selectOpenOfReplica(db: Db, replicaId: string): Promise<OpenExecution[]> {
  return open(db).where('replica_id', '=', replicaId).execute();
}

export function selectOpenOfMessage(db: Db, messageId: string): Promise<OpenExecution | undefined> {
  return open(db).where('message_id', '=', messageId).executeTakeFirst();
}

/** Whether a run of the schedule is in work, or with `pending` about to be. */
export async function hasScheduledRun(
  db: Db,
  automationId: string,
  { withPending }: { withPending: boolean },
): Promise<boolean> {
  const found = await db
    .selectFrom('automation_execution')
    .select('id')
    .where('automation_id', '=', automationId)
    .where('trigger_type', 'in', scheduled)
    .where('status', 'in', withPending ? ['pending', ...begun] : begun)
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** The fire of a schedule that has waited longest. */
export function selectOldestPending(
  db: Db,
  automationId: string,
): Promise<Pick<ExecutionRow, 'id' | 'automation_id' | 'subject'> | undefined> {
  return db
    .selectFrom('automation_execution')
    .select(['id', 'automation_id', 'subject'])
    .where('automation_id', '=', automationId)
    .where('trigger_type', '=', 'cron')
    .where('status', '=', 'pending')
    .orderBy('triggered_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
}

/** The replica to which the automation sent what was last said of a pull request. */
export async function selectReplicaOfSubject(
  db: Db,
  key: { automationId: string; subject: string },
): Promise<string | null> {
  const row = await db
    .selectFrom('automation_execution')
    .select('replica_id')
    .where('automation_id', '=', key.automationId)
    .where('subject', '=', key.subject)
    .where('replica_id', 'is not', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.replica_id ?? null;
}

export async function selectExecutions(
  db: Db,
  page: { automationId: string; limit: number; offset: number },
): Promise<{ rows: ExecutionRow[]; total: number }> {
  const matching = db.selectFrom('automation_execution').where('automation_id', '=', page.automationId);
  const [rows, counted] = await Promise.all([
    matching
      .selectAll()
      .orderBy('triggered_at', 'desc')
      .orderBy('id', 'desc')
      .limit(page.limit)
      .offset(page.offset)
      .execute(),
    matching.select(sql<number>`count(*)::int`.as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows: rows.map(typed), total: counted.total };
}

/** Runs in work whose message is over or gone: it was taken out of its queue, or its chat was deleted. */
export function selectMissedEnds(db: Db, limit: number): Promise<MissedEnd[]> {
  return db
    .selectFrom('automation_execution as execution')
    .leftJoin('message', 'message.id', 'execution.message_id')
    .select(['execution.id', 'execution.automation_id', 'message.state', 'message.error'])
    .where('execution.status', 'in', begun)
    .where((is) =>
      is.or([is('message.state', 'is', null), is('message.state', 'not in', ['queued', 'running'])]),
    )
    .orderBy('execution.id')
    .limit(limit)
    .execute();
}

/** What has waited since before that time though nothing holds it up. */
export function selectOverdue(
  db: Db,
  due: { before: Date; limit: number },
): Promise<Pick<ExecutionRow, 'id' | 'automation_id' | 'subject'>[]> {
  return db
    .selectFrom('automation_execution as execution')
    .select(['execution.id', 'execution.automation_id', 'execution.subject'])
    .where('execution.status', '=', 'pending')
    .where('execution.triggered_at', '<', due.before)
    .where(({ or, eb, not, exists, selectFrom }) => {
      const ahead = selectFrom('automation_execution as other')
        .select('other.id')
        .whereRef('other.automation_id', '=', 'execution.automation_id')
        .where('other.trigger_type', 'in', scheduled)
        .where((is) =>
          is.or([
            is('other.status', 'in', begun),
            is.and([is('other.status', '=', 'pending'), is('other.id', '<', is.ref('execution.id'))]),
          ]),
        );
      return or([eb('execution.trigger_type', '!=', 'cron'), not(exists(ahead))]);
    })
    .orderBy('execution.id')
    .limit(due.limit)
    .execute();
}

/** Deletes some that ended before that time; answers how many. */
export async function deleteEnded(
  db: Db,
  { before, limit }: { before: Date; limit: number },
): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from automation_execution
     where id = any (array(
       select id from automation_execution where completed_at < ${before} order by completed_at limit ${limit}))
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

function open(db: Db) {
  return db.selectFrom('automation_execution').select(['id', 'automation_id']).where('status', 'in', begun);
}

function typed(row: Selectable<AutomationExecution>): ExecutionRow {
  // The check constraints of the columns allow nothing else.
  return row as ExecutionRow;
}
