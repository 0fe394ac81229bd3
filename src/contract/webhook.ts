import { z } from 'zod';
import { id, pageQuery, time } from './common.ts';
import type { Operation } from './operation.ts';
import { replicaParams } from './replica.ts';

export const webhookEventTypes = [
  'replica.ready',
  'replica.turn_completed',
  'replica.deleted',
  'replica.error',
] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];

const told = {
  id: id.describe('The value of `X-Service-Event-Id`; equal however often the event is delivered.'),
  created_at: time,
  replica: z.object({
    id,
    name: z.string(),
    status: z.enum(['active', 'sleeping', 'archived', 'preparing', 'error', 'deleted']),
    source: z.string(),
    created_at: time,
  }),
};
const nothing = z.object({});
const url = z.string();

/** The body of a delivery. */
export const webhookEvent = z
  .discriminatedUnion('type', [
    z.object({ ...told, type: z.literal('replica.ready'), data: nothing }),
    z.object({
      ...told,
      type: z.literal('replica.turn_completed'),
      data: z.object({
        repository_statuses: z.array(
          z.object({
            repository: z.string(),
            branch: z.string().nullable(),
            default_branch: z.string().nullable(),
            pr_urls: z.array(url),
          }),
        ),
        pr_urls: z.array(url).describe('Pull requests that were opened in the turn.'),
      }),
    }),
    z.object({ ...told, type: z.literal('replica.deleted'), data: nothing }),
    z.object({ ...told, type: z.literal('replica.error'), data: z.object({ message: z.string() }) }),
  ])
  .meta({ id: 'WebhookEvent' });
export type WebhookEvent = z.output<typeof webhookEvent>;

/** What the headers of a delivery say. */
export const deliveryHeaders = {
  'X-Service-Event': 'The type of the event.',
  'X-Service-Event-Id': 'The id of the event: equal whenever the event comes again.',
  'X-Service-Delivery': 'The id of the delivery: equal for its retries, another one for a redelivery.',
  'X-Service-Replica-Id': 'The id of the replica.',
  'X-Service-Timestamp': 'When the attempt was made, in seconds since 1970.',
  'X-Service-Signature': 'With a secret: `sha256=` and the HMAC-SHA256 of the raw body in hex.',
  'X-Service-Signature-V2':
    'With a secret: `t=` the timestamp, `,v1=` and the HMAC-SHA256 of timestamp, a dot and the raw body in hex.',
} as const;

const attempt = z.object({
  number: z.int(),
  started_at: time,
  duration_ms: z.int(),
  status: z.int().nullable().describe('What the receiver answered; null when it did not.'),
  error: z.string().nullable(),
});

const delivery = z
  .object({
    id: id.describe('The value of `X-Service-Delivery`.'),
    event_id: id,
    event_type: z.enum(webhookEventTypes),
    url: z.string(),
    state: z.enum(['pending', 'delivered', 'failed']),
    is_redelivery: z.boolean(),
    attempts: z.array(attempt),
    next_attempt_at: time.nullable().describe('Null while one before it waits, and when it has ended.'),
    created_at: time,
    finished_at: time.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

const tag = 'Webhooks';

export const webhookOperations = {
  listDeliveries: {
    method: 'GET',
    path: '/v1/replica/{id}/deliveries',
    tag,
    summary: 'List the webhook deliveries of a replica',
    description: 'Newest first, with every attempt; also of a replica that is deleted. Kept for 30 days.',
    access: 'member',
    params: replicaParams,
    query: z.object({ ...pageQuery(20), state: z.enum(['pending', 'delivered', 'failed']).optional() }),
    answers: {
      200: z.object({
        deliveries: z.array(delivery),
        total: z.int(),
        page: z.int(),
        limit: z.int(),
        total_pages: z.int(),
      }),
    },
  },
  redeliver: {
    method: 'POST',
    path: '/v1/replica/{id}/deliveries/{deliveryId}/redeliver',
    tag,
    summary: 'Deliver an event again',
    description:
      'The event keeps its id; the delivery is a new one, after those that wait. Refused while the event waits already.',
    access: 'member',
    params: replicaParams.extend({ deliveryId: id }),
    answers: { 202: z.object({ delivery }) },
    errors: ['invalid_state'],
  },
} as const satisfies Record<string, Operation>;
