import type { usageOperations } from '../contract/usage.ts';
import type { Handlers } from '../http/handler.ts';
import type { UsageService } from './service.ts';
import type { Counted } from './tally.ts';
import { usageWindow } from './window.ts';

type Parts = { usage: Pick<UsageService, 'read'>; now: () => Date };

export function usageHandlers({ usage, now }: Parts): Handlers<typeof usageOperations> {
  return {
    async getUsage({ db, caller, query }) {
      const at = now();
      const window = usageWindow(query, at);
      const { organizationId } = caller;
      const { total, groups } = await usage.read(db, {
        organizationId,
        window,
        grouping: query.group_by,
        at,
      });
      return {
        status: 200,
        body: {
          start: window.start.toISOString(),
          end: window.end.toISOString(),
          group_by: query.group_by,
          total: presentCounted(total),
          groups: groups.map(({ key, ...counted }) => ({ key, ...presentCounted(counted) })),
        },
      };
    },
  };
}

/** Sums are whole millionths; divided once, they are as exact as a number can be. */
function presentCounted({ minutes, micros }: Counted): { minutes: number; amount: number } {
  return { minutes, amount: micros / 1_000_000 };
}
