import { createHash } from 'node:crypto';
import { type Caller, callerName } from '../account/caller.ts';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { newId } from '../lib/ids.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';

/**
 * Exactly-once POST. The record is inserted in the same transaction as the change it guards, so a change
 * and its stored answer exist both or not at all, whatever is killed when. A second request with the same
 * key waits on the unique index until the first has ended, then finds the answer, or does the work itself
 * when the first was rolled back. Refused requests leave nothing behind and may be tried again.
 */
export type StoredAnswer = { status: number; body: unknown };
export type Claim = { id: string; replay: null } | { id: string; replay: StoredAnswer };

export type IdempotentRequest = { caller: Caller; key: string; path: string; body: Buffer | null };

const KEEP_MS = 24 * 60 * 60 * 1000;

/** Takes the key for this request, or returns what an earlier one answered. */
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
  const inserted = await db
    .insertInto('idempotency_record')
    .values({ id, ...identity, body_hash: bodyHash, created_at: now })
    .onConflict((conflict) => conflict.constraint('idempotency_record_key').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (inserted) return { id, replay: null };

  const earlier = await db
    .selectFrom('idempotency_record')
    .select(['id', 'body_hash', 'status', 'answer'])
    .where((eb) => eb.and(identity))
    .executeTakeFirst();
  if (!earlier?.answer || earlier.status === null) {
    throw new AppError(
      'idempotency_key_in_progress',
      'A request with this Idempotency-Key is still in progress; try again shortly.',
    );
  }
  if (!earlier.body_hash.equals(bodyHash)) {
    throw new AppError(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body; use a new key.',
    );
  }
  const body = JSON.parse(sealer.open(earlier.answer, answerContext(earlier.id)));
  return { id: earlier.id, replay: { status: earlier.status, body } };
}

/** Keeps the answer for repeats. Sealed, because some answers show a secret once. */
export async function storeAnswer(
  db: Db,
  sealer: Sealer,
  record: { id: string; answer: StoredAnswer },
): Promise<void> {
  await db
    .updateTable('idempotency_record')
    .set({
      status: record.answer.status,
      answer: sealer.seal(JSON.stringify(record.answer.body), answerContext(record.id)),
    })
    .where('id', '=', record.id)
    .execute();
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

const answerContext = (id: string) => sealedContext('idempotency_record', 'answer', id);
