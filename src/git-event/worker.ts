import { z } from 'zod';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import type { GitHostKind } from '../git-host/host.ts';
import type { Schedule } from '../work/schedule.ts';
import { defineTask, type TaskContext, type Tasks } from '../work/task.ts';
import type { TakenEvent } from './event.ts';
import { mapEvent } from './mapping.ts';
import { type GitEventService, TAKE_TASK } from './service.ts';
import * as store from './store.ts';

type Parts = {
  db: Db;
  gitEvents: Pick<GitEventService, 'request'>;
  /** Those who want to know, told in the transaction in which the event is done with. */
  takers: readonly ((tx: Db, taken: TakenEvent) => Promise<void>)[];
  now: () => Date;
};

/** What cannot be handed on for so long is of no use any more. */
const GIVEN_UP_AFTER_MS = 24 * 3_600_000;
/** A job comes at once; what has waited for so long has lost its own. */
const OVERDUE_MS = 10 * 60_000;
const SWEEP_BATCH = 200;
/** What a job hands on before it lets the jobs of other repositories come. */
const MAX_AT_ONCE = 100;

/**
 * Hands on the events of a repository in the order in which they came, each in a transaction of its own. One that fails
 * does not hold up those behind it: it is tried again with the job, or with the one that goes on where this one ends.
 */
export function gitEventTasks({ db, gitEvents, takers, now }: Parts): Tasks {
  async function take(repositoryId: string, { signal, log }: TaskContext): Promise<void> {
    let failure: unknown = null;
    let afterId: string | null = null;
    for (let done = 0; ; ) {
      signal.throwIfAborted();
      if (done === MAX_AT_ONCE) return gitEvents.request(db, repositoryId);
      const row: store.GitEventRow | undefined = await store.selectNextEvent(db, { repositoryId, afterId });
      if (!row) break;
      afterId = row.id;
      try {
        await transact(db, (tx) => handOn(tx, row));
        done++;
      } catch (error) {
        log.warn({ gitEventId: row.id, repositoryId, err: error }, 'git_event.failed');
        if (now().getTime() - row.at.getTime() > GIVEN_UP_AFTER_MS) await store.deleteEvent(db, row.id);
        else failure ??= error;
      }
    }
    if (failure !== null) throw failure;
  }

  async function handOn(tx: Db, row: store.GitEventRow): Promise<void> {
    if (!(await store.deleteEvent(tx, row.id))) return;
    const event = mapEvent(row.kind as GitHostKind, row.name, row.payload);
    if (!event) return;
    const { organization_id: organizationId, repository_id: repositoryId, delivery_id: deliveryId } = row;
    const taken: TakenEvent = { organizationId, repositoryId, deliveryId, event, payload: row.payload };
    for (const tell of takers) await tell(tx, taken);
  }

  return [
    defineTask({
      name: TAKE_TASK,
      payload: z.object({ repository_id: z.guid() }),
      run: (payload, context) => take(payload.repository_id, context),
    }),
    defineTask({
      name: 'git_event.sweep',
      payload: z.object({}),
      run: async () => {
        const before = new Date(now().getTime() - OVERDUE_MS);
        const waiting = await store.selectWaiting(db, { before, limit: SWEEP_BATCH });
        for (const repositoryId of waiting) await gitEvents.request(db, repositoryId);
      },
    }),
  ];
}

export const gitEventSchedule: readonly Schedule[] = [{ name: 'git_event.sweep', cron: '*/10 * * * *' }];
