import { randomUUID } from 'node:crypto';
import type { automationOperations } from '../../../src/contract/automation.ts';
import { fill } from '../fill.ts';
import { emptyOrganization } from '../full.ts';
import { again, type Refusals } from '../refusal.ts';

export const automationRefusals: Refusals<typeof automationOperations> = {
  listAutomations: { forbidden: async () => ({ query: { scope: 'user' } }) },
  createAutomation: {
    forbidden: (f) => again(f, 'createAutomation', { scope: 'user' }),
    not_found: (f) => again(f, 'createAutomation', { environment_id: randomUUID() }),
    limit_reached: async (f) => {
      const { org } = await emptyOrganization(f);
      const { body } = await org.call('GET', '/v1/environments/global');
      const environment_id = body.environment.id;
      await fill(f.stage.world.pool, 'automation', { organization_id: org.id, environment_id });
      const triggers = [{ type: 'custom' }];
      return { ...(await again(f, 'createAutomation', { environment_id, triggers })), by: org.call };
    },
  },
};
