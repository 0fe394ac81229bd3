import type { Trigger, TriggerType } from '../contract/automation.ts';

type Triggered = { triggers: unknown };
type CronConfig = Extract<Trigger, { type: 'cron' }>['config'];

/** The triggers of an automation as its row keeps them. */
export function triggersOf({ triggers }: Triggered): Trigger[] {
  // They were parsed before they were stored, and nothing else writes them.
  return triggers as Trigger[];
}

export function hasTrigger(automation: Triggered, type: TriggerType): boolean {
  return triggersOf(automation).some((trigger) => trigger.type === type);
}

/** What the one cron trigger of an automation says; null when it has none. */
export function cronConfigOf(automation: Triggered): CronConfig | null {
  for (const { type, config } of triggersOf(automation)) if (type === 'cron') return config;
  return null;
}

/** Every repository that the triggers name, once. */
export function repositoryIdsOf(automation: Triggered): string[] {
  const named = triggersOf(automation).flatMap(({ config }) =>
    'repository_ids' in config ? (config.repository_ids ?? []) : [],
  );
  return [...new Set(named)];
}
