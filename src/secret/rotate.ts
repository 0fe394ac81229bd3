// Re-seals what is not sealed with the current key. Which rows are left is read off the rows themselves, so a
// killed rotation is resumed by starting it again, and several may run side by side.
//
// Each column is walked twice. The sweep takes batches and skips rows that somebody holds, so it never waits and
// cannot deadlock with the service. What it skipped is then taken row by row, waiting for one lock while holding
// none; a row that stays held is counted as busy and left for the next run.

import { type Kysely, sql, type Transaction } from 'kysely';
import { SealError, type Sealer, sealedPrefix } from './seal.ts';
import type { SealedColumn } from './sealed-columns.ts';

export interface RotationProgress {
  table: string;
  column: string;
  /** Rows of this column re-sealed so far. */
  resealed: number;
  /** Rows of this column that did not open. */
  failed: number;
  /** Rows of this column that stayed locked by somebody else. */
  busy: number;
}

export interface RotationFailure {
  table: string;
  column: string;
  id: string;
  sentence: string;
}

export interface RotationResult {
  resealed: number;
  failed: number;
  busy: number;
  /** The first of the failed rows, for the report to the operator. */
  failures: RotationFailure[];
}

export interface RotationOptions<DB> {
  db: Kysely<DB>;
  sealer: Sealer;
  columns: readonly SealedColumn[];
  /** Rows per transaction of the sweep. */
  batchSize?: number;
  /** How long a row held by somebody else is waited for. */
  lockTimeoutMs?: number;
  onProgress?: (progress: RotationProgress) => void;
  signal?: AbortSignal;
}

interface SealedRow {
  id: string;
  sealed: Buffer;
}

interface Walk<DB> extends RotationOptions<DB> {
  target: SealedColumn;
  progress: RotationProgress;
  failures: Map<string, RotationFailure>;
}

const FAILURES_SHOWN = 100;
const LOCK_NOT_AVAILABLE = '55P03';

export async function rotateSecrets<DB>(options: RotationOptions<DB>): Promise<RotationResult> {
  const result: RotationResult = { resealed: 0, failed: 0, busy: 0, failures: [] };
  for (const target of options.columns) {
    const { table, column } = target;
    const progress: RotationProgress = { table, column, resealed: 0, failed: 0, busy: 0 };
    const walk: Walk<DB> = { ...options, target, progress, failures: new Map() };
    await sweep(walk);
    await takeLeftovers(walk);
    result.resealed += progress.resealed;
    result.failed += progress.failed;
    result.busy += progress.busy;
    result.failures.push(...[...walk.failures.values()].slice(0, FAILURES_SHOWN - result.failures.length));
  }
  return result;
}

async function sweep<DB>(walk: Walk<DB>): Promise<void> {
  const { batchSize = 100, db, onProgress, progress, signal } = walk;
  // The walk goes by id, so that rows which do not open are passed once and not met again.
  let after: string | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const rows: SealedRow[] = await db.transaction().execute(async (tx) => {
      const batch = await lockStaleRows({ walk, tx, after, limit: batchSize });
      await resealRows(walk, tx, batch);
      return batch;
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
    onProgress?.({ ...progress });
  }
}

async function takeLeftovers<DB>(walk: Walk<DB>): Promise<void> {
  const { db, failures, lockTimeoutMs = 5000, onProgress, progress, signal } = walk;
  let after: string | null = null;
  for (;;) {
    signal?.throwIfAborted();
    const id: string | undefined = await findStaleRow(walk, after);
    if (id === undefined) return;
    after = id;
    if (failures.has(id)) continue;
    try {
      await db.transaction().execute(async (tx) => {
        await sql`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`.execute(tx);
        await resealRows(walk, tx, await lockRow(walk, tx, id));
      });
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      progress.busy += 1;
    }
    onProgress?.({ ...progress });
  }
}

// "No key update" is the lock the update itself takes: it keeps writers of the row away and lets rows that
// refer to it be inserted.

async function lockStaleRows<DB>(options: {
  walk: Walk<DB>;
  tx: Transaction<DB>;
  after: string | null;
  limit: number;
}): Promise<SealedRow[]> {
  const { walk, tx, after, limit } = options;
  const { id, column, table } = walk.target;
  const { rows } = await sql<SealedRow>`
    select ${sql.ref(id)} as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${isStale(walk)} and ${isAfter(walk, after)}
    order by ${sql.ref(id)} limit ${limit} for no key update skip locked`.execute(tx);
  return rows;
}

async function findStaleRow<DB>(walk: Walk<DB>, after: string | null): Promise<string | undefined> {
  const { id, table } = walk.target;
  const { rows } = await sql<{ id: string }>`
    select ${sql.ref(id)} as id from ${sql.table(table)}
    where ${isStale(walk)} and ${isAfter(walk, after)}
    order by ${sql.ref(id)} limit 1`.execute(walk.db);
  return rows[0]?.id;
}

async function lockRow<DB>(walk: Walk<DB>, tx: Transaction<DB>, rowId: string): Promise<SealedRow[]> {
  const { id, column, table } = walk.target;
  const { rows } = await sql<SealedRow>`
    select ${sql.ref(id)} as id, ${sql.ref(column)} as sealed from ${sql.table(table)}
    where ${sql.ref(id)} = ${rowId} and ${isStale(walk)} for no key update`.execute(tx);
  return rows;
}

async function resealRows<DB>(
  walk: Walk<DB>,
  tx: Transaction<DB>,
  rows: readonly SealedRow[],
): Promise<void> {
  const { failures, progress, sealer, target } = walk;
  for (const row of rows) {
    const context = target.context(row.id);
    try {
      const resealed = sealer.seal(sealer.openBytes(row.sealed, context), context);
      await sql`
        update ${sql.table(target.table)} set ${sql.ref(target.column)} = ${resealed}
        where ${sql.ref(target.id)} = ${row.id}`.execute(tx);
      progress.resealed += 1;
    } catch (error) {
      // One row that does not open must not keep the others on the old key.
      if (!(error instanceof SealError)) throw error;
      failures.set(row.id, {
        table: target.table,
        column: target.column,
        id: row.id,
        sentence: error.message,
      });
      progress.failed += 1;
    }
  }
}

function isStale<DB>(walk: Walk<DB>) {
  const prefix = sealedPrefix(walk.sealer.currentKeyId);
  const column = sql.ref(walk.target.column);
  return sql<boolean>`${column} is not null and substring(${column} from 1 for ${sql.lit(prefix.length)}) <> ${prefix}`;
}

function isAfter<DB>(walk: Walk<DB>, after: string | null) {
  return after === null ? sql<boolean>`true` : sql<boolean>`${sql.ref(walk.target.id)} > ${after}`;
}

function isLockTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE;
}
