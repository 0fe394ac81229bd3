import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type Tasks } from '../work/task.ts';
import type { InboundService } from './service.ts';

const TRIM_TASK = 'inbound.trim';

export function inboundTasks({ db, inbound }: { db: Db; inbound: Pick<InboundService, 'trim'> }): Tasks {
  return [
    defineTask({
      name: TRIM_TASK,
      payload: z.object({}),
      run: (_payload, { signal }) => inbound.trim(db, signal),
    }),
  ];
}

export const inboundSchedule: readonly Schedule[] = [{ name: TRIM_TASK, cron: '17 * * * *' }];
