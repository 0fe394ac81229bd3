import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type Tasks } from '../work/task.ts';
import { deleteExpired } from './sweep-store.ts';

export function accountTasks({ db, now }: { db: Db; now: () => Date }): Tasks {
  return [defineTask({ name: 'account.sweep', payload: z.object({}), run: () => deleteExpired(db, now()) })];
}

export const accountSchedule: readonly Schedule[] = [{ name: 'account.sweep', cron: '*/10 * * * *' }];
