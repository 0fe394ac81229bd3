import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type Tasks } from '../work/task.ts';
import { trimEvents } from './trim.ts';

export function eventTasks({ db, now }: { db: Db; now: () => Date }): Tasks {
  return [
    defineTask({
      name: 'event.trim',
      payload: z.object({}),
      run: (_payload, { signal }) => trimEvents(db, now(), signal),
    }),
  ];
}

export const eventSchedule: readonly Schedule[] = [{ name: 'event.trim', cron: '* * * * *' }];
