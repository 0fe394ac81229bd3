import { z } from 'zod';
import { defineTask, type Tasks } from '../work/task.ts';
import { FOLLOW_UP_TASK } from './follow-up.ts';
import type { PullRequestService } from './service.ts';
import { LOOK_TASK } from './tracking.ts';

export function pullRequestTasks({ tracking, followUps }: PullRequestService): Tasks {
  return [
    defineTask({
      name: LOOK_TASK,
      payload: z.object({
        replica_id: z.guid(),
        cause: z.enum(['push', 'contact']),
        step: z.int().min(0),
      }),
      run: ({ replica_id: replicaId, cause, step }, context) =>
        tracking.look({ replicaId, cause, step }, context),
    }),
    defineTask({
      name: FOLLOW_UP_TASK,
      payload: z.object({ pull_request_id: z.guid() }),
      run: (payload) => followUps.tell(payload.pull_request_id),
    }),
  ];
}
