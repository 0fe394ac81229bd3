import type { webhookOperations } from '../contract/webhook.ts';
import type { Handlers } from '../http/handler.ts';
import { presentDelivery } from './present.ts';
import type { WebhookService } from './service.ts';

export function webhookHandlers({
  list,
  redeliver,
}: Pick<WebhookService, 'list' | 'redeliver'>): Handlers<typeof webhookOperations> {
  return {
    async listDeliveries({ db, caller, params, query }) {
      const { rows, attempts, total } = await list(db, caller, { ...query, replicaId: params.id });
      const { page, limit } = query;
      const deliveries = rows.map((row) => presentDelivery(row, attempts));
      return {
        status: 200,
        body: { deliveries, total, page, limit, total_pages: Math.ceil(total / limit) },
      };
    },

    async redeliver({ db, caller, params }) {
      const row = await redeliver(db, caller, { replicaId: params.id, deliveryId: params.deliveryId });
      return { status: 202, body: { delivery: presentDelivery(row, []) } };
    },
  };
}
