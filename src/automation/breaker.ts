import { truncateBytes } from '../lib/text.ts';

/** How a run has ended. What a person has ended, or what never began, says nothing about the automation. */
export type RunEnd = { status: 'completed' } | FailedRun;
export type FailedRun = { status: 'failed'; error: string; isCounted: boolean };

type Counted = { failure_count: number; enabled: boolean };
type Change = {
  failure_count?: number;
  enabled?: false;
  disabled_reason?: string;
  cron_next_fire_at?: null;
  cron_due_at?: null;
};

const MAX_FAILURES = 5;
const MAX_REASON_BYTES = 2_000;

/** What the end of a run changes of its automation: five failures in a row switch it off. */
export function afterRun(automation: Counted, end: RunEnd): Change {
  if (end.status === 'completed') return automation.failure_count === 0 ? {} : { failure_count: 0 };
  if (!end.isCounted) return {};
  const failures = automation.failure_count + 1;
  if (failures < MAX_FAILURES || !automation.enabled) return { failure_count: failures };
  return {
    failure_count: failures,
    ...switchedOff(`${MAX_FAILURES} runs in a row have failed. ${end.error}`),
  };
}

/** What an automation is like that the service has switched off for a reason. */
export function switchedOff(reason: string) {
  return {
    enabled: false,
    disabled_reason: truncateBytes(reason, MAX_REASON_BYTES),
    cron_next_fire_at: null,
    cron_due_at: null,
  } as const;
}
