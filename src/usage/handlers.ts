import type { usageOperations } from '../contract/usage.ts';
import type { Handlers } from '../http/handler.ts';
import type { ModelLedger } from '../model/ledger.ts';
import { presentSums } from '../model/present.ts';
import type { UsageService } from './service.ts';
import type { Counted } from './tally.ts';
import { usageWindow } from './window.ts';

type Parts = {
  usage: Pick<UsageService, 'read'>;
  ledger: Pick<ModelLedger, 'ofOrganization'>;
  now: () => Date;
};

export function usageHandlers({ usage, ledger, now }: Parts): Handlers<typeof usageOperations> {
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
      const models = await ledger.ofOrganization(db, { organizationId, ...window });
      return {
        status: 200,
        body: {
          start: window.start.toISOString(),
          end: window.end.toISOString(),
          group_by: query.group_by,
          total: { ...presentCounted(total), models: presentSums(models) },
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
