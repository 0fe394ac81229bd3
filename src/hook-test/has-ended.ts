import type { HookTestRow } from './store.ts';

/** Statuses of a test on which something is still done. */
export const OPEN_STATUSES = ['waiting', 'preparing', 'running'] as const;

export function hasEnded({ status }: Pick<HookTestRow, 'status'>): boolean {
  return !(OPEN_STATUSES as readonly string[]).includes(status);
}
