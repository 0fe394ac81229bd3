import pg from 'pg';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import { engineLimits } from '../engine/limits.ts';
import { type EngineEvent, engineEvent, eventBatch } from '../engine/protocol.ts';
import type { SandboxIdentity, SandboxRow, SandboxService } from '../sandbox/service.ts';
import { toStorable } from './storable.ts';

type Take = (db: Db, sandbox: SandboxRow, events: readonly EngineEvent[]) => Promise<void>;
type Parts = {
  db: Db;
  sandboxes: Pick<SandboxService, 'lock' | 'setAcked'>;
  /** Who listens to an engine, by what its sandbox is for. */
  takers: Record<'replica' | 'warm_pool' | 'hook_test', Take>;
};
export type Acknowledgement = { status: 200 | 409; acked: number } | { status: 400; error: string };
type Batch = {
  incarnation: number;
  first: number;
  last: number;
  /** Without those that are not known here. */
  events: EngineEvent[];
};

/** SQLSTATE classes of what is wrong with a value, or beyond what the database takes. */
const valueErrors = new Set(['22', '54']);

/**
 * Takes a batch of an engine's events: each number once, in order, in one transaction with what it changes. An engine
 * that repeats itself is told how far we are; one that left something out is told to begin there.
 */
export function createEngineEvents({ db, sandboxes, takers }: Parts) {
  async function take(identity: SandboxIdentity, body: unknown): Promise<Acknowledgement> {
    const batch = readBatch(body);
    if ('error' in batch) return { status: 400, error: batch.error };
    try {
      return await transact(db, (tx) => takeBatch(tx, identity.sandboxId, batch));
    } catch (error) {
      const isOfValues = error instanceof pg.DatabaseError && valueErrors.has((error.code ?? '').slice(0, 2));
      if (!isOfValues) throw error;
      // An engine sends what is refused in halves, down to the one event, and lets that go; a failure it repeats.
      return { status: 400, error: 'An event holds a value that cannot be kept.' };
    }
  }

  async function takeBatch(tx: Db, sandboxId: string, batch: Batch): Promise<Acknowledgement> {
    const sandbox = await sandboxes.lock(tx, sandboxId);
    // Nobody wants to know any more.
    if (!sandbox || sandbox.removing_at) return { status: 200, acked: batch.last };
    const acked = Number(sandbox.acked_seq);
    // An engine of another incarnation has ended, or is about to: its events stay on the disk for the next one to send.
    if (sandbox.incarnation !== batch.incarnation || batch.first > acked + 1) return { status: 409, acked };
    if (batch.last <= acked) return { status: 200, acked };
    await sandboxes.setAcked(tx, sandbox.id, batch.last);
    const fresh = batch.events.filter(({ seq }) => seq > acked);
    await takers[sandbox.purpose as keyof typeof takers](tx, sandbox, fresh);
    return { status: 200, acked: batch.last };
  }

  async function state(identity: SandboxIdentity): Promise<{ acked: number }> {
    const sandbox = await transact(db, (tx) => sandboxes.lock(tx, identity.sandboxId));
    return { acked: Number(sandbox?.acked_seq ?? 0) };
  }

  return { take, state };
}

function readBatch(body: unknown): Batch | { error: string } {
  const parsed = eventBatch.safeParse(body);
  if (!parsed.success) return { error: 'The batch of events does not have the right shape.' };
  const { incarnation } = parsed.data;
  const sent = parsed.data.events.map((event) => toStorable(event) as typeof event);
  const wrong = sent.find((event, index) => index > 0 && event.seq !== (sent[index - 1]?.seq ?? 0) + 1);
  if (wrong) return { error: `Event ${wrong.seq} does not follow the one before it.` };
  const events: EngineEvent[] = [];
  for (const event of sent) {
    const known = readEvent(event);
    if (known === 'unreadable') return { error: `Event ${event.seq} does not have the right shape.` };
    if (known !== 'unknown') events.push(known);
  }
  return { incarnation, events, first: sent[0]?.seq ?? 1, last: sent.at(-1)?.seq ?? 0 };
}

const knownTypes = new Set<string>(engineEvent.options.map((option) => option.shape.type.value));

/** Events of a newer engine that are not known here are passed over; known ones must have the right shape and size. */
function readEvent(event: { seq: number; type: string }): EngineEvent | 'unknown' | 'unreadable' {
  if (!knownTypes.has(event.type)) return 'unknown';
  // Of what is storable, since nothing else is certain to have an end.
  if (JSON.stringify(event).length > engineLimits.eventBytes) return 'unreadable';
  const parsed = engineEvent.safeParse(event);
  return parsed.success ? parsed.data : 'unreadable';
}
