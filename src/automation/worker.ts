import { z } from 'zod';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import { selectExecution } from './execution-store.ts';
import { type Executions, RUN_TASK } from './executions.ts';
import type { Runs } from './run.ts';

type Parts = { db: Db; runs: Pick<Runs, 'start'>; executions: Executions };

const SWEEP_TASK = 'automation.sweep';
const FAULT = 'The run could not be begun because of a fault of this service.';

export function automationTasks({ db, runs, executions }: Parts): Tasks {
  async function run(executionId: string, context: TaskContext): Promise<void> {
    try {
      await transact(db, (tx) => runs.start(tx, executionId));
    } catch (error) {
      const refusal = error instanceof AppError && error.status < 500 ? error : null;
      const isLast = context.attempt >= context.maxAttempts && !context.signal.aborted;
      if (refusal || isLast) await fail(executionId, refusal?.message ?? FAULT);
      if (!refusal) throw error;
    }
  }

  function fail(executionId: string, error: string): Promise<void> {
    return transact(db, async (tx) => {
      const execution = await selectExecution(tx, executionId);
      if (execution) await executions.refuse(tx, execution, { error, isCounted: true });
    });
  }

  /** One that gives trouble does not keep the others waiting. */
  async function endMissed({ signal, log }: TaskContext): Promise<void> {
    for (const missed of await executions.findMissed(db)) {
      signal.throwIfAborted();
      await transact(db, (tx) => executions.endMissed(tx, missed)).catch((error: unknown) =>
        log.warn({ executionId: missed.id, err: error }, 'automation.end_missed'),
      );
    }
  }

  return [
    defineTask({
      name: RUN_TASK,
      payload: z.object({ execution_id: z.guid() }),
      run: (payload, context) => run(payload.execution_id, context),
    }),
    defineTask({
      name: SWEEP_TASK,
      payload: z.object({}),
      run: async (_payload, context) => {
        await endMissed(context);
        await executions.requestOverdue(db);
        await executions.forgetOld(db, context.signal);
      },
    }),
  ];
}

export const automationSchedule: readonly Schedule[] = [{ name: SWEEP_TASK, cron: '* * * * *' }];
