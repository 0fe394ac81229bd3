import type { Caller } from '../account/caller.ts';
import type { EndedTurn } from '../chat/turns.ts';
import { AppError, notFound } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { afterCommit } from '../db/transact.ts';
import { publicStatus } from '../replica/lifecycle.ts';
import type { Moved, ReplicaRow, ReplicaService } from '../replica/service.ts';
import { type News, newsOfMove, newsOfTurn, webhookBody } from './event.ts';
import * as store from './store.ts';

type Parts = {
  replicas: Pick<ReplicaService, 'read' | 'lock'>;
  signals: { touch(topic: string): void };
  newId: () => string;
  now: () => Date;
};
type Page = { page: number; limit: number; state?: store.DeliveryState | undefined };
export type WebhookService = ReturnType<typeof createWebhookService>;

/** The topic under which the processes tell each other that something is to be delivered. */
export const WEBHOOK_TOPIC = 'webhook';

/**
 * What replicas tell the address that was given at their creation. Events are written in the transaction of what they
 * tell, while its replica is held, so their order is the order in which things happened.
 */
export function createWebhookService({ replicas, signals, newId, now }: Parts) {
  async function tell(db: Db, replica: ReplicaRow, news: News): Promise<void> {
    if (replica.webhook_url === null) return;
    const [id, at] = [newId(), now()];
    const of = { organization_id: replica.organization_id, replica_id: replica.id };
    const body = webhookBody({ id, at, replica, news });
    await store.insertEvent(db, { ...of, id, type: news.type, body, created_at: at });
    await deliver(db, { ...of, webhook_event_id: id, url: replica.webhook_url });
  }

  async function deliver(
    db: Db,
    wanted: Pick<store.DeliveryRow, 'webhook_event_id' | 'organization_id' | 'replica_id' | 'url'> & {
      is_redelivery?: boolean;
    },
  ): Promise<string> {
    const [id, at] = [newId(), now()];
    const { origin } = new URL(wanted.url);
    await store.insertDelivery(db, { id, ...wanted, origin, created_at: at });
    afterCommit(db, () => signals.touch(WEBHOOK_TOPIC));
    return id;
  }

  /** A replica of the caller's, also one that is deleted. */
  async function find(db: Db, caller: Caller, id: string): Promise<ReplicaRow> {
    const row = await replicas.read(db, id);
    if (row?.organization_id !== caller.organizationId) throw notFound('Replica');
    return row;
  }

  async function findDelivery(db: Db, key: { replicaId: string; id: string }): Promise<store.DeliveryRow> {
    const found = await store.selectDelivery(db, key);
    if (!found) throw notFound('Delivery');
    return found;
  }

  return {
    /** In the transaction of a replica's move. */
    async onMoved(db: Db, { row }: Moved): Promise<void> {
      const news = newsOfMove(row);
      if (news) await tell(db, row, news);
    },

    /** In the transaction of a turn's end. The end of a replica is the last that is told of it. */
    async onTurnEnded(db: Db, { row, summary }: EndedTurn): Promise<void> {
      if (publicStatus[row.state] !== null) await tell(db, row, newsOfTurn(summary));
    },

    async list(
      db: Db,
      caller: Caller,
      { replicaId, page, limit, state }: Page & { replicaId: string },
    ): Promise<{ rows: store.DeliveryRow[]; attempts: store.AttemptRow[]; total: number }> {
      await find(db, caller, replicaId);
      const offset = (page - 1) * limit;
      const { rows, total } = await store.selectDeliveries(db, { replicaId, state, limit, offset });
      const ids = rows.map(({ id }) => id);
      return { rows, attempts: await store.selectAttempts(db, ids), total };
    },

    /** Delivers an event once more, after everything that its replica has to tell. */
    async redeliver(
      db: Db,
      caller: Caller,
      { replicaId, deliveryId }: { replicaId: string; deliveryId: string },
    ): Promise<store.DeliveryRow> {
      await find(db, caller, replicaId);
      // Deliveries of a replica are numbered while it is held, so that none becomes visible before an earlier one.
      await replicas.lock(db, replicaId);
      const delivery = await findDelivery(db, { replicaId, id: deliveryId });
      const { webhook_event_id, organization_id, replica_id, url } = delivery;
      if (await store.isEventWaiting(db, webhook_event_id)) {
        throw new AppError(
          'invalid_state',
          'The event is still being delivered; it can be delivered again when that has ended.',
        );
      }
      const of = { webhook_event_id, organization_id, replica_id, url };
      const id = await deliver(db, { ...of, is_redelivery: true });
      return findDelivery(db, { replicaId, id });
    },

    count: store.countDeliveries,
  };
}
