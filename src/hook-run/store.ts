import { type Insertable, type Selectable, sql } from 'kysely';
import type { Db } from '../db/database.ts';
import type { HookRun } from '../db/schema.ts';

export type HookRunRow = Selectable<HookRun>;

/** Writes planned runs; one that is already there, from an earlier try of the same boot, is left as it is. */
export async function insertRuns(db: Db, rows: Insertable<HookRun>[]): Promise<void> {
  if (rows.length === 0) return;
  await db
    .insertInto('hook_run')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
}

/** Removes the oldest runs of a replica, with their output, beyond the most that are kept. */
export async function trimRuns(db: Db, trimmed: { replicaId: string; kept: number }): Promise<void> {
  await db
    .deleteFrom('hook_run')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('hook_run')
        .select('id')
        .where('replica_id', '=', trimmed.replicaId)
        .orderBy('created_at', 'desc')
        .orderBy('position', 'desc')
        .offset(trimmed.kept)
        .limit(1_000),
    )
    .execute();
}

/** Ends the runs that an earlier boot of this sandbox or replica has left open; how they ended is not known. */
export async function endLeftRuns(
  db: Db,
  left: { sandboxId: string; replicaId: string | null; planned: readonly string[]; at: Date },
): Promise<void> {
  await db
    .updateTable('hook_run')
    .set({ status: 'finished', exit_code: null, finished_at: left.at })
    .where('status', '!=', 'finished')
    .where((eb) => eb.or([eb('sandbox_id', '=', left.sandboxId), eb('replica_id', '=', left.replicaId)]))
    .where((eb) => eb.not(eb('id', '=', eb.fn.any(eb.val(left.planned)))))
    .execute();
}

/** The start hooks of a replica are to run again, unless that boot is already done. */
export async function resetCompletion(db: Db, boot: { replicaId: string; bootId: string }): Promise<void> {
  await db
    .with('starting', (starting) =>
      starting
        .selectFrom('replica')
        .select('id')
        .where('id', '=', boot.replicaId)
        .where('boot_id', '=', boot.bootId)
        .where('state', 'in', ['preparing', 'waking'])
        // Whoever notes that the boot is done holds the row: it is seen as it is after that.
        .forUpdate(),
    )
    .updateTable('replica_repository')
    .from('starting')
    .set({ start_hooks_completed: false })
    .whereRef('replica_repository.replica_id', '=', 'starting.id')
    .execute();
}

/** The run, if it is one of that sandbox. */
export function lockRun(db: Db, key: { id: string; sandboxId: string }): Promise<HookRunRow | undefined> {
  return db
    .selectFrom('hook_run')
    .selectAll()
    .where('id', '=', key.id)
    .where('sandbox_id', '=', key.sandboxId)
    .forUpdate()
    .executeTakeFirst();
}

export async function startRun(db: Db, id: string, at: Date): Promise<void> {
  await db
    .updateTable('hook_run')
    .set({ status: 'running', executed_at: at })
    .where('id', '=', id)
    .where('status', '=', 'waiting')
    .execute();
}

export async function finishRun(
  db: Db,
  finished: { id: string; exitCode: number | null; timedOut: boolean; at: Date },
): Promise<void> {
  await db
    .updateTable('hook_run')
    .set({
      status: 'finished',
      exit_code: finished.exitCode,
      timed_out: finished.timedOut,
      executed_at: sql<Date>`coalesce(executed_at, ${finished.at}::timestamptz)`,
      finished_at: finished.at,
    })
    .where('id', '=', finished.id)
    .execute();
}

/** Adds output: all of it in pieces, and its beginning to the run itself. */
export async function appendOutput(
  db: Db,
  appended: {
    run: HookRunRow;
    texts: readonly string[];
    /** What the texts take. */
    bytes: number;
    /** How much was written, also where it is not kept. */
    characters: number;
    previewChars: number;
  },
): Promise<void> {
  const { run, texts, bytes, characters, previewChars } = appended;
  const first = run.output_seq + 1;
  const pieces = texts.map((text, index) => ({ hook_run_id: run.id, seq: first + index, text }));
  if (pieces.length > 0) await db.insertInto('hook_output').values(pieces).execute();
  await db
    .updateTable('hook_run')
    .set((eb) => ({
      output_seq: run.output_seq + pieces.length,
      output_bytes: eb('output_bytes', '+', String(bytes)),
      output_chars: eb('output_chars', '+', String(characters)),
      ...(Number(run.output_chars) < previewChars && {
        output: sql<string>`left(output || ${texts.join('')}::text, ${previewChars})`,
      }),
    }))
    .where('id', '=', run.id)
    .execute();
}

/** Runs that have begun, of a replica and of the warm workspace it began as: warm ones first, in their order. */
export function selectRuns(
  db: Db,
  owner: { replicaId: string; warmWorkspaceIds: readonly string[] },
): Promise<HookRunRow[]> {
  return db
    .selectFrom('hook_run')
    .selectAll()
    .where((eb) =>
      eb.or([
        eb('replica_id', '=', owner.replicaId),
        eb('warm_workspace_id', '=', eb.fn.any(eb.val(owner.warmWorkspaceIds))),
      ]),
    )
    .where('executed_at', 'is not', null)
    .orderBy(sql`phase = 'start'`)
    .orderBy('created_at')
    .orderBy('position')
    .orderBy('id')
    .execute();
}

export function selectRun(db: Db, id: string): Promise<HookRunRow | undefined> {
  return db.selectFrom('hook_run').selectAll().where('id', '=', id).executeTakeFirst();
}

/** Pieces of output after one of them, in order. */
export function selectOutput(
  db: Db,
  wanted: { runId: string; after: number; limit: number },
): Promise<{ seq: number; text: string }[]> {
  return db
    .selectFrom('hook_output')
    .select(['seq', 'text'])
    .where('hook_run_id', '=', wanted.runId)
    .where('seq', '>', wanted.after)
    .orderBy('seq')
    .limit(wanted.limit)
    .execute();
}
