import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type Tasks } from '../work/task.ts';
import { clearReceivers, deleteOldEvents } from './trim-store.ts';

const TRIM_TASK = 'webhook.trim';
const KEPT_MS = 30 * 86_400_000;
const ROWS_AT_ONCE = 500;

export const webhookSchedule: readonly Schedule[] = [{ name: TRIM_TASK, cron: '17 * * * *' }];

/** Removes what is no longer kept, in steps that hold no lock for long. */
export function webhookTasks({ db, now }: { db: Db; now: () => Date }): Tasks {
  return [
    defineTask({
      name: TRIM_TASK,
      payload: z.object({}),
      async run(_payload, { signal }) {
        const wanted = { before: new Date(now().getTime() - KEPT_MS), limit: ROWS_AT_ONCE };
        for (const removeSome of [deleteOldEvents, clearReceivers]) {
          do signal.throwIfAborted();
          while ((await removeSome(db, wanted)) > 0);
        }
      },
    }),
  ];
}
