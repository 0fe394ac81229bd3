import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { openDatabase } from '../../src/db/database.ts';
import { transact } from '../../src/db/transact.ts';
import { guardedDispatcher } from '../../src/lib/address-guard.ts';
import { newId } from '../../src/lib/ids.ts';
import { lockReplica, selectReplicaById } from '../../src/replica/store.ts';
import { parseKeyRing } from '../../src/secret/key-ring.ts';
import { createSealer } from '../../src/secret/seal.ts';
import { createCourier } from '../../src/webhook/courier.ts';
import { createSend } from '../../src/webhook/send.ts';
import { createWebhookService } from '../../src/webhook/service.ts';
import type { WebhookTimes } from '../../src/webhook/times.ts';
import { createLoop } from '../../src/work/loop.ts';
import { createSignals } from '../../src/work/signal.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { createDatabase } from '../world/database.ts';
import { shortTimes } from './short-times.ts';

export type CourierStage = Awaited<ReturnType<typeof openCourierStage>>;

/** A database with replicas that have something to tell, and couriers as each process has one. */
export async function openCourierStage() {
  await using opening = new AsyncDisposableStack();
  const { url, drop } = await createDatabase();
  opening.defer(drop);
  const log = pino({ level: 'silent' });
  const { db, pool, close } = openDatabase({ url, poolSize: 4, log });
  opening.defer(close);
  const sealer = createSealer(parseKeyRing(randomBytes(32).toString('base64')));
  const webhooks = createWebhookService({
    replicas: { read: selectReplicaById, lock: lockReplica },
    signals: { touch() {} },
    newId,
    now: () => new Date(),
  });
  const everything = opening.move();

  return {
    url,
    db,
    pool,

    async organization(): Promise<string> {
      const id = newId();
      await db.insertInto('organization').values({ id, name: 'Test', slug: id }).execute();
      return id;
    },

    /** A replica that tells an address of all that happens in it. */
    async replica(organizationId: string, webhook_url: string): Promise<string> {
      const id = await insertReplica(db, { organizationId, state: 'active' });
      await db.updateTable('replica').set({ webhook_url }).where('id', '=', id).execute();
      return id;
    },

    /** Lets so many turns of a replica end, one after the other. */
    async tell(replicaId: string, count = 1): Promise<void> {
      for (let n = 0; n < count; n++) {
        await transact(db, async (tx) => {
          const row = await lockReplica(tx, replicaId);
          if (!row) throw new Error('there is no such replica');
          const summary = { repository_statuses: [], pr_urls: [] };
          const outcome = { state: 'completed', error: null } as const;
          await webhooks.onTurnEnded(tx, { row, messageId: newId(), outcome, summary });
        });
      }
    },

    /** The ids of a replica's events, in the order in which they were told. */
    async eventsOf(replicaId: string): Promise<string[]> {
      const rows = await db
        .selectFrom('webhook_delivery')
        .select('webhook_event_id')
        .where('replica_id', '=', replicaId)
        .orderBy('seq')
        .execute();
      return rows.map(({ webhook_event_id }) => webhook_event_id);
    },

    deliveries: () => db.selectFrom('webhook_delivery').selectAll().orderBy('seq').execute(),

    /** Starts a courier with connections of its own; gives what stops it. */
    async startCourier(times: Partial<WebhookTimes> = {}): Promise<() => Promise<void>> {
      const own = openDatabase({ url, poolSize: 2, log });
      const signals = createSignals({ url, log });
      await signals.start();
      const dispatcher = guardedDispatcher({ allowPrivateTargets: true });
      const used = { ...shortTimes, ...times };
      const courier = createCourier({
        db: own.db,
        send: createSend({ dispatcher, allowPrivateTargets: true, limitMs: used.limitMs }),
        sealer,
        signals,
        times: used,
        log,
        now: () => new Date(),
        random: () => 0,
      });
      const loop = createLoop({ name: 'courier', intervalMs: used.lookMs, run: courier.run, log });
      loop.start();
      return async () => {
        await loop.stop();
        await courier.close();
        await dispatcher.destroy();
        await signals.stop();
        await own.close();
      };
    },

    close: () => everything.disposeAsync(),
  };
}
