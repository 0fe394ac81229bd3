import { z } from 'zod';
import type { Db } from '../db/database.ts';
import type { Git } from '../git/git.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import { CHECK_TASK } from './checks.ts';
import { readRepository } from './reading.ts';
import type { RepositoryService } from './service.ts';

type Parts = { db: Db; git: Git; repositories: Pick<RepositoryService, 'checks'> };

const FAULT =
  'The repository could not be checked because of a fault of this service; it is tried again later.';

export function repositoryTasks({ db, git, repositories: { checks } }: Parts): Tasks {
  /** Talks to the git host with no transaction open. */
  async function check(id: string, context: TaskContext): Promise<void> {
    const repository = await checks.begin(db, id);
    if (!repository) return;
    const { signal, log } = context;
    try {
      const openCredential = () => checks.openCredential(db, repository);
      const result = await readRepository({ git, repository, openCredential, signal });
      if (result.outcome === 'failed')
        log.info({ repositoryId: id, err: result.cause }, 'repository.check_failed');
      await checks.report(db, repository, result);
    } catch (error) {
      // Nobody waits for a check that does not come.
      const isLast = context.attempt >= context.maxAttempts;
      if (isLast && !signal.aborted) await checks.report(db, repository, { outcome: 'failed', error: FAULT });
      throw error;
    }
  }

  return [
    defineTask({
      name: CHECK_TASK,
      payload: z.object({ repository_id: z.guid() }),
      run: (payload, context) => check(payload.repository_id, context),
    }),
    defineTask({
      name: 'repository.check_due',
      payload: z.object({}),
      run: async (_payload, { log }) => {
        const asked = await checks.requestDue(db);
        log.debug({ asked }, 'repository.checks_due');
      },
    }),
  ];
}

export const repositorySchedule: readonly Schedule[] = [{ name: 'repository.check_due', cron: '* * * * *' }];
