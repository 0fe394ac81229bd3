import type { ReplicaRow } from '../replica/service.ts';

type Subject = Pick<ReplicaRow, 'last_activity_at' | 'sleep_due_at' | 'delete_due_at'>;

const USUAL_MS = 60_000;

/**
 * Whether a use of a replica is worth being noted. Once a minute will do, since it waits for longer than that before it
 * sleeps; where an operator has set less, several times before it would.
 */
export function isActivityOld({ last_activity_at, sleep_due_at, delete_due_at }: Subject, at: Date): boolean {
  if (last_activity_at === null) return true;
  const due = sleep_due_at ?? delete_due_at;
  const waitMs = due ? Math.min(USUAL_MS, (due.getTime() - last_activity_at.getTime()) / 4) : USUAL_MS;
  return at.getTime() - last_activity_at.getTime() > waitMs;
}
