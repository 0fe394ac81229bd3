import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type Tasks } from '../work/task.ts';
import { forgetOldKeys } from './idempotency.ts';

export function httpTasks({ db, now }: { db: Db; now: () => Date }): Tasks {
  return [
    defineTask({ name: 'idempotency.sweep', payload: z.object({}), run: () => forgetOldKeys(db, now()) }),
  ];
}

export const httpSchedule: readonly Schedule[] = [{ name: 'idempotency.sweep', cron: '7 * * * *' }];
