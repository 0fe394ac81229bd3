import { createHmac } from 'node:crypto';
import type { WebhookEventType } from '../contract/webhook.ts';

type Sent = {
  deliveryId: string;
  event: { id: string; type: WebhookEventType };
  replicaId: string;
  /** The very bytes that are sent. */
  body: Buffer;
  /** Nothing is signed without one. */
  secret: string | null;
  at: Date;
};

/** The headers of an attempt. Those of another attempt differ in the time and what is signed with it. */
export function webhookHeaders({
  deliveryId,
  event,
  replicaId,
  body,
  secret,
  at,
}: Sent): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  return {
    'content-type': 'application/json',
    'user-agent': 'replica-service',
    'x-service-event': event.type,
    'x-service-event-id': event.id,
    'x-service-delivery': deliveryId,
    'x-service-replica-id': replicaId,
    'x-service-timestamp': timestamp,
    ...(secret !== null && {
      'x-service-signature': `sha256=${sign(secret, body)}`,
      'x-service-signature-v2': `t=${timestamp},v1=${sign(secret, `${timestamp}.`, body)}`,
    }),
  };
}

function sign(secret: string, ...parts: (string | Buffer)[]): string {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest('hex');
}
