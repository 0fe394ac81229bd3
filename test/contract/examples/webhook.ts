import type { webhookOperations } from '../../../src/contract/webhook.ts';
import type { Examples } from '../example.ts';
import { insertDelivery } from '../replica-fixture.ts';

export const webhookExamples: Examples<typeof webhookOperations> = {
  listDeliveries: async (f) => {
    await insertDelivery(f, 'failed');
    return { params: { id: f.replicaId }, query: { page: 1, limit: 5, state: 'failed' } };
  },
  redeliver: async (f) => ({
    params: { id: f.replicaId, deliveryId: await insertDelivery(f, 'delivered') },
  }),
};
