import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { defineTask, type Tasks } from '../work/task.ts';
import { hostTask } from './host.ts';
import { REMOVE_TASK, type SandboxService } from './service.ts';

type Parts = { db: Db; sandboxes: Pick<SandboxService, 'hostId' | 'remove'> };

export function sandboxTasks({ db, sandboxes }: Parts): Tasks {
  return [
    defineTask({
      name: hostTask(REMOVE_TASK, sandboxes.hostId),
      payload: z.object({ sandbox_id: z.guid() }),
      run: ({ sandbox_id }) => sandboxes.remove(db, sandbox_id),
    }),
  ];
}
