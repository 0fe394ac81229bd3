import type { customWebhookOperations } from '../contract/automation.ts';
import type { Handlers } from '../http/handler.ts';
import type { CustomWebhookService } from './custom-webhook.ts';

export function customWebhookHandlers(
  customWebhooks: Pick<CustomWebhookService, 'receive'>,
): Handlers<typeof customWebhookOperations> {
  return {
    async fireAutomation({ db, params, headers, rawBody }) {
      const named = [headers['x-service-delivery'], headers['webhook-id'], headers['idempotency-key']];
      await customWebhooks.receive(db, {
        token: params.token,
        bytes: rawBody,
        signature: headers['x-service-signature'] ?? null,
        deliveryId: named.find((name) => name !== undefined && name !== '') ?? null,
      });
      return { status: 202, body: { accepted: true } };
    },
  };
}
