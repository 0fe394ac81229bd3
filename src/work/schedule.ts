import { type ParsedCronItem, parseCronItems } from 'graphile-worker';
import type { Tasks } from './task.ts';

export type Schedule = {
  /** The name of the task to run. */
  name: string;
  /** Five cron fields, in UTC. */
  cron: string;
  /** Tells two schedules of one task apart; the task's name when absent. */
  id?: string;
  payload?: Record<string, unknown>;
  queue?: string;
  maxAttempts?: number;
  /** Fires of this last stretch that no process was up to see are made up for. */
  backfillMs?: number;
};

/** Covers the restart of a process that is alone. */
const BACKFILL_MS = 2 * 60_000;

/** Every process may hold the same schedules: the database lets each fire be turned into a job once. */
export function toCronItems(schedule: readonly Schedule[], tasks: Tasks): ParsedCronItem[] {
  const names = new Set(tasks.map((task) => task.name));
  const ids = new Set<string>();
  for (const { name, id = name } of schedule) {
    if (!names.has(name)) throw new Error(`The schedule ${id} names the task ${name}, which does not exist.`);
    if (ids.has(id)) throw new Error(`Two schedules have the id ${id}.`);
    ids.add(id);
  }
  return parseCronItems(
    schedule.map((entry) => ({
      task: entry.name,
      match: entry.cron,
      identifier: entry.id ?? entry.name,
      payload: entry.payload ?? {},
      options: {
        backfillPeriod: entry.backfillMs ?? BACKFILL_MS,
        ...(entry.queue === undefined ? {} : { queueName: entry.queue }),
        ...(entry.maxAttempts === undefined ? {} : { maxAttempts: entry.maxAttempts }),
      },
    })),
  );
}
