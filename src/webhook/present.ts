import type { z } from 'zod';
import type { webhookOperations } from '../contract/webhook.ts';
import type { AttemptRow, DeliveryRow } from './store.ts';

type Delivery = z.input<(typeof webhookOperations)['redeliver']['answers'][202]>['delivery'];

export function presentDelivery(row: DeliveryRow, attempts: readonly AttemptRow[]): Delivery {
  return {
    id: row.id,
    event_id: row.webhook_event_id,
    // Check constraints allow nothing else in these columns.
    event_type: row.event_type as Delivery['event_type'],
    state: row.state as Delivery['state'],
    url: row.url,
    is_redelivery: row.is_redelivery,
    attempts: attempts
      .filter(({ webhook_delivery_id }) => webhook_delivery_id === row.id)
      .map(({ number, started_at, duration_ms, status, error }) => ({
        number,
        started_at: started_at.toISOString(),
        duration_ms,
        status,
        error,
      })),
    next_attempt_at: row.state === 'pending' ? (row.due_at?.toISOString() ?? null) : null,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}
