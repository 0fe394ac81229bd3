import type { Selectable } from 'kysely';
import type { Automation } from '../db/schema.ts';

export type AutomationRow = Selectable<Automation>;

/** Something that shall lead to a run of an automation, once. */
export type Fire = {
  triggerType: 'cron' | 'github' | 'gitlab' | 'custom' | 'manual';
  payload: unknown;
  /** What must not lead to a second run: the minute of a schedule, the delivery of an event. */
  cause: string;
  /** The pull request it is about, `repository-id#number`, when its later events shall follow into the same workspace. */
  subject: string | null;
};
