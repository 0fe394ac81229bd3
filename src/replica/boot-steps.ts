import type { Db } from '../db/database.ts';
import type { EngineEvent } from '../engine/protocol.ts';
import { countSteps } from './report-store.ts';
import type { ReplicaRow } from './service.ts';
import { insertSteps } from './store.ts';

type Taken = {
  db: Db;
  row: ReplicaRow;
  events: readonly EngineEvent[];
  newId: () => string;
  now: () => Date;
};

/** More than any boot has; an engine that reports more is not believed. */
const MAX_STEPS = 500;
/** A step that is said to have begun earlier than this, or later than now, is taken for one of now. */
const OLDEST_MS = 86_400_000;
const CLOCK_SKEW_MS = 60_000;

/** Keeps what an engine says of the steps of the present boot, for the replica's timeline. */
export async function takeSteps({ db, row, events, newId, now }: Taken): Promise<void> {
  const steps = events.flatMap((event) =>
    event.type === 'boot.step' && event.payload.bootId === row.boot_id ? [event.payload] : [],
  );
  if (steps.length === 0) return;
  const kept = await countSteps(db, { replicaId: row.id, incarnation: row.incarnation });
  await insertSteps(
    db,
    steps.slice(0, Math.max(0, MAX_STEPS - kept)).map((step) => ({
      id: newId(),
      replica_id: row.id,
      incarnation: row.incarnation,
      step: step.step,
      started_at: credible(new Date(step.startedAt), now()),
      duration_ms: step.durationMs,
      outcome: step.outcome,
      detail: step.detail,
    })),
  );
}

function credible(startedAt: Date, at: Date): Date {
  const agoMs = at.getTime() - startedAt.getTime();
  return agoMs < OLDEST_MS && agoMs > -CLOCK_SKEW_MS ? startedAt : at;
}
