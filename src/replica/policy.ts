import type { ReplicaState } from './lifecycle.ts';

export type PolicyTimes = {
  /** An active replica of policy `default` or `delete_when_done` sleeps after this long without activity. */
  autoSleepMs: number;
  /** One of policy `delete_after_inactivity` is deleted after this long without activity. */
  deleteAfterInactivityMs: number;
  /** A sleeping one is deleted after this long asleep. */
  deleteAfterSleepMs: number;
};

type Subject = {
  lifecycle_policy: string;
  /** Minutes without activity that were asked for in place of `autoSleepMs`. */
  auto_stop_minutes: number | null;
  last_activity_at: Date | null;
  slept_at: Date | null;
};
type Due = { sleep_due_at: Date | null; delete_due_at: Date | null };

/** When a replica shall fall asleep and when it shall be deleted, as things stand. */
export function dueTimes(state: ReplicaState, subject: Subject, at: Date, times: PolicyTimes): Due {
  const lastActivity = subject.last_activity_at ?? at;
  const autoSleepMs =
    subject.auto_stop_minutes === null ? times.autoSleepMs : subject.auto_stop_minutes * 60_000;
  const isBrief = subject.lifecycle_policy === 'delete_after_inactivity';
  if (state === 'active') {
    return isBrief
      ? { sleep_due_at: null, delete_due_at: later(lastActivity, times.deleteAfterInactivityMs) }
      : { sleep_due_at: later(lastActivity, autoSleepMs), delete_due_at: null };
  }
  if (state === 'sleeping') {
    const wait = isBrief ? times.deleteAfterInactivityMs : times.deleteAfterSleepMs;
    return { sleep_due_at: null, delete_due_at: later(subject.slept_at ?? at, wait) };
  }
  return { sleep_due_at: null, delete_due_at: null };
}

function later(from: Date, ms: number): Date {
  return new Date(from.getTime() + ms);
}
