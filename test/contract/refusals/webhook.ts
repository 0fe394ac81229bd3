import type { webhookOperations } from '../../../src/contract/webhook.ts';
import type { Refusals } from '../refusal.ts';
import { insertDelivery } from '../replica-fixture.ts';

export const webhookRefusals: Refusals<typeof webhookOperations> = {
  redeliver: {
    invalid_state: async (f) => ({
      params: { id: f.replicaId, deliveryId: await insertDelivery(f, 'pending') },
    }),
  },
};
