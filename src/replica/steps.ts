import type { Db } from '../db/database.ts';
import { failureSentence } from './failure.ts';
import type { ReplicaRow } from './service.ts';
import { insertSteps } from './store.ts';

export type StepRecorder = ReturnType<typeof createStepRecorder>;

type Parts = { db: Db; row: ReplicaRow; newId: () => string; now: () => Date };
type Outcome = 'done' | 'skipped' | 'failed';

/** Measures what a worker does for a replica, for its timeline. */
export function createStepRecorder({ db, row, newId, now }: Parts) {
  let taken: Parameters<typeof insertSteps>[1] = [];

  function add(
    step: string,
    outcome: Outcome,
    rest: { startedAt: Date; durationMs: number; detail: string | null },
  ) {
    taken.push({
      id: newId(),
      replica_id: row.id,
      incarnation: row.incarnation,
      step,
      outcome,
      started_at: rest.startedAt,
      duration_ms: rest.durationMs,
      detail: rest.detail,
    });
  }

  async function write(): Promise<void> {
    const steps = taken;
    taken = [];
    await insertSteps(db, steps);
  }

  return {
    /** Runs `work` and notes how it went; a failure is written at once, since nothing else may follow. */
    async measure<T>(step: string, work: () => Promise<T>): Promise<T> {
      const startedAt = now();
      const began = performance.now();
      try {
        const result = await work();
        add(step, 'done', { startedAt, durationMs: performance.now() - began, detail: null });
        return result;
      } catch (error) {
        const detail = failureSentence(error);
        add(step, 'failed', { startedAt, durationMs: performance.now() - began, detail });
        await write();
        throw error;
      }
    },
    note(step: string, outcome: Outcome, detail: string | null): void {
      add(step, outcome, { startedAt: now(), durationMs: 0, detail });
    },
    write,
  };
}
