import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Insertable } from 'kysely';
import pg from 'pg';
import { type Caller, callerName } from '../account/caller.ts';
import { AppError, type ErrorCode } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import type { DB } from '../db/schema.ts';
import { newId } from '../lib/ids.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';

/**
 * Exactly-once POST. The record is inserted in the same transaction as the change it guards, so a change
 * and its stored answer exist both or not at all, whatever is killed when. A second request with the same
 * key waits on the unique index until the first has ended, then finds the answer, or does the work itself
 * when the first was rolled back. Requests that are refused in the transaction leave nothing behind and may be tried
 * again.
 *
 * Some answers are only whole after the commit (see `settle` in handler.ts). Their records have no status until then,
 * and who repeats such a request waits for it, holding no transaction. The change stands by then and is never made
 * twice, so what the waiting ends with is what every repeat gets:
 * - the settled answer;
 * - the refusal, of whatever status: trying again takes another key;
 * - the first answer, when the waiting was cut off or ended in trouble that nobody foresaw: it was true at the commit.
 */
export type StoredAnswer = { status: number; body: unknown };
type StoredRefusal = { refusal: { code: ErrorCode; message: string; details: string | null } };
export type Claim = { id: string; replay: null } | { id: string; replay: StoredAnswer; isSettled: boolean };

export type IdempotentRequest = { caller: Caller; key: string; path: string; body: Buffer | null };

/** SQLSTATE of a statement that was ended by its time limit. */
const WAITED_TOO_LONG = '57014';
const KEEP_MS = 24 * 60 * 60 * 1000;
/** Longer than any handler takes to settle; who has not settled by then was killed. */
const SETTLED_WITHIN_MS = 15_000;
const SETTLED_POLL_MS = 50;

const USE_ANOTHER_KEY = 'The first request with this Idempotency-Key ended so; use a new key to try again.';

/** Takes the key for this request, or returns what an earlier one answered, or throws what it was refused with. */
export async function claimKey(db: Db, sealer: Sealer, request: IdempotentRequest): Promise<Claim> {
  const identity = {
    organization_id: request.caller.organizationId,
    caller: callerName(request.caller),
    key: request.key,
    path: request.path,
  };
  const bodyHash = createHash('sha256')
    .update(request.body ?? '')
    .digest();
  const now = new Date();
  await db
    .deleteFrom('idempotency_record')
    .where((eb) => eb.and(identity))
    .where('created_at', '<', new Date(now.getTime() - KEEP_MS))
    .execute();
  const id = newId();
  const inserted = await insertUnlessTaken(db, { id, ...identity, body_hash: bodyHash, created_at: now });
  if (inserted) return { id, replay: null };

  const earlier = await db
    .selectFrom('idempotency_record')
    .select(['id', 'body_hash', 'status', 'answer'])
    .where((eb) => eb.and(identity))
    .executeTakeFirst();
  if (!earlier?.answer) throw inProgress();
  if (!earlier.body_hash.equals(bodyHash)) {
    throw new AppError(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body; use a new key.',
    );
  }
  const replay = openAnswer(sealer, earlier.id, earlier.answer);
  return { id: earlier.id, replay, isSettled: earlier.status !== null };
}

/** False when the key is taken. Waits for a request that holds it, for as long as a statement may take. */
async function insertUnlessTaken(db: Db, row: Insertable<DB['idempotency_record']>): Promise<boolean> {
  try {
    const inserted = await db
      .insertInto('idempotency_record')
      .values(row)
      .onConflict((conflict) => conflict.constraint('idempotency_record_key').doNothing())
      .returning('id')
      .executeTakeFirst();
    return inserted !== undefined;
  } catch (error) {
    throw error instanceof pg.DatabaseError && error.code === WAITED_TOO_LONG ? inProgress() : error;
  }
}

function inProgress(): AppError {
  return new AppError(
    'idempotency_key_in_progress',
    'A request with this Idempotency-Key is still in progress; try again shortly.',
  );
}

/** Keeps the answer for repeats. Sealed, because some answers show a secret once. */
export async function storeAnswer(
  db: Db,
  sealer: Sealer,
  record: { id: string; answer: StoredAnswer; isSettled: boolean },
): Promise<void> {
  const { id, answer, isSettled } = record;
  await store(db, sealer, { id, kept: answer, status: isSettled ? answer.status : null });
}

/** Keeps for repeats that the request was refused after its change was made. */
export async function storeRefusal(
  db: Db,
  sealer: Sealer,
  { id, error }: { id: string; error: AppError },
): Promise<void> {
  const { code, message, details, status } = error;
  await store(db, sealer, { id, kept: { refusal: { code, message, details } }, status });
}

async function store(
  db: Db,
  sealer: Sealer,
  { id, kept, status }: { id: string; kept: StoredAnswer | StoredRefusal; status: number | null },
): Promise<void> {
  const answer = sealer.seal(JSON.stringify(kept), answerContext(id));
  await db.updateTable('idempotency_record').set({ status, answer }).where('id', '=', id).execute();
}

/**
 * Waits until the request that took the key has settled its answer; throws what it was refused with. The first answer
 * counts when it never does.
 */
export async function settledAnswer(
  db: Db,
  sealer: Sealer,
  wait: { id: string; signal: AbortSignal },
): Promise<StoredAnswer> {
  const giveUpAt = performance.now() + SETTLED_WITHIN_MS;
  for (;;) {
    const record = await db
      .selectFrom('idempotency_record')
      .select(['status', 'answer'])
      .where('id', '=', wait.id)
      .executeTakeFirst();
    if (!record?.answer) {
      throw new AppError('unavailable', 'What this Idempotency-Key was used for is forgotten; try again.');
    }
    const answer = openAnswer(sealer, wait.id, record.answer);
    if (record.status !== null) return answer;
    if (performance.now() >= giveUpAt) {
      await storeAnswer(db, sealer, { id: wait.id, answer, isSettled: true });
      return answer;
    }
    await delay(SETTLED_POLL_MS, undefined, { signal: wait.signal }).catch(() =>
      wait.signal.throwIfAborted(),
    );
  }
}

export async function forgetOldKeys(db: Db, now: Date): Promise<void> {
  await db
    .deleteFrom('idempotency_record')
    .where('created_at', '<', new Date(now.getTime() - KEEP_MS))
    .execute();
}

/** Reads the header; anything but 1 to 255 printable ASCII characters is refused. */
export function parseIdempotencyKey(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new AppError(
    'invalid_request',
    'Idempotency-Key must be 1 to 255 printable characters without spaces.',
  );
}

function openAnswer(sealer: Sealer, id: string, sealed: Buffer): StoredAnswer {
  const kept: StoredAnswer | StoredRefusal = JSON.parse(sealer.open(sealed, answerContext(id)));
  if (!('refusal' in kept)) return kept;
  const { code, message, details } = kept.refusal;
  throw new AppError(code, message, details ?? USE_ANOTHER_KEY);
}

const answerContext = (id: string) => sealedContext('idempotency_record', 'answer', id);
