import type { warmPoolOperations } from '../contract/warm-pool.ts';
import type { EnvironmentService } from '../environment/service.ts';
import type { Handlers } from '../http/handler.ts';
import { presentWarmPool } from './present.ts';
import type { WarmPoolService } from './service.ts';

type Parts = { warmPools: WarmPoolService; environments: Pick<EnvironmentService, 'hold'> };

export function warmPoolHandlers({ warmPools, environments }: Parts): Handlers<typeof warmPoolOperations> {
  return {
    async setWarmPool({ db, caller, params, body }) {
      const environment = await environments.hold(db, caller, params.environmentId);
      const pool = await warmPools.setEnabled(db, environment, body.enabled);
      return { status: 200, body: { warm_pool: presentWarmPool(pool) } };
    },
  };
}
