/*
 * Delivers events. Each process has one courier, which works in rounds. A round notes how attempts have ended and takes
 * what is due, in one transaction, and lets the attempts begin; the next round comes when an attempt has ended, when a
 * hint says that there is something new, or when something becomes due.
 *
 * - A delivery that is taken is put off by its lease. A process that is killed leaves it so, and another one takes it when
 *   the lease is over; the attempt that nobody knows the end of does not count. So an event arrives at least once, and a
 *   receiver tells repeats by the event's id.
 * - Of a replica only the first delivery that waits is due, so that they arrive in order. Its end makes the next one due.
 * - A receiver and an organization have so many attempts on their way at a time that a slow one leaves room for others.
 * - Jobs are not used: who waits for a slow receiver would keep other jobs from being worked off.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Db } from '../db/database.ts';
import { transact } from '../db/transact.ts';
import { describeError } from '../lib/log.ts';
import type { Sealer } from '../secret/seal.ts';
import { sealedContext } from '../secret/sealed-columns.ts';
import type { Signals } from '../work/signal.ts';
import * as store from './courier-store.ts';
import { type AttemptEnd, judgeAttempt } from './delivery.ts';
import type { Send } from './send.ts';
import { WEBHOOK_TOPIC } from './service.ts';
import { webhookHeaders } from './signature.ts';
import type { WebhookTimes } from './times.ts';

type Parts = {
  db: Db;
  send: Send;
  sealer: Pick<Sealer, 'open'>;
  signals: Pick<Signals, 'follow'>;
  times: WebhookTimes;
  log: Logger;
  now: () => Date;
  random: () => number;
};

/** Attempts of this process that are on their way at the same time. */
const ROOM = { inAll: 512, perOrganization: 128, perOrigin: 8 };

export function createCourier({ db, send, sealer, signals, times, log, now, random }: Parts) {
  const hints = signals.follow(WEBHOOK_TOPIC);
  const stopping = new AbortController();
  const onTheWay = new Map<string, { delivery: store.TakenDelivery; arrival: Promise<void> }>();
  let ended: store.EndedAttempt[] = [];
  const cutShort: store.TakenDelivery[] = [];
  let followedAtMs = Number.NEGATIVE_INFINITY;
  /** Aborted when the next round shall come at once: an attempt has ended, or the service stops. */
  let news = new AbortController();

  /** Until the signal is aborted; a failure of the database ends it, and it can be called again. */
  async function run(signal: AbortSignal): Promise<void> {
    const wake = () => news.abort();
    signal.addEventListener('abort', wake);
    try {
      while (!signal.aborted) {
        news = new AbortController();
        const nextDue = await makeRound();
        const untilDueMs = nextDue === null ? times.lookMs : nextDue.getTime() - now().getTime();
        await hints.next(news.signal, Math.min(Math.max(untilDueMs, 0), times.lookMs));
      }
    } finally {
      signal.removeEventListener('abort', wake);
    }
  }

  /** Answers when something more is due. */
  async function makeRound(): Promise<Date | null> {
    const noted = ended;
    ended = [];
    const notedIds = new Set(noted.map(({ delivery }) => delivery.id));
    const busy = [...onTheWay.values()].map(({ delivery }) => delivery).filter(({ id }) => !notedIds.has(id));
    const isTimeToLook = performance.now() >= followedAtMs + times.lookMs;
    try {
      const { taken, nextDue } = await transact(db, async (tx) => {
        await store.recordAttempts(tx, noted);
        // A lease begins when it is taken: the transaction may have waited for its turn.
        const at = now();
        if (isTimeToLook) await store.letFollow(tx, at);
        const taken = await store.takeDue(tx, {
          at,
          leaseUntil: new Date(at.getTime() + times.leaseMs),
          busy,
          room: ROOM.inAll - busy.length,
          perOrigin: ROOM.perOrigin,
          perOrganization: ROOM.perOrganization,
        });
        return { taken, nextDue: await store.selectNextDue(tx, at) };
      });
      if (isTimeToLook) followedAtMs = performance.now();
      for (const id of notedIds) onTheWay.delete(id);
      for (const delivery of taken) onTheWay.set(delivery.id, { delivery, arrival: attempt(delivery) });
      return nextDue;
    } catch (error) {
      // What was noted after all is not noted twice, because the lease has changed.
      ended = [...noted, ...ended];
      throw error;
    }
  }

  async function attempt(delivery: store.TakenDelivery): Promise<void> {
    const startedAt = now();
    const startedMs = performance.now();
    const end = await attemptEnd(delivery, startedAt);
    if (end === null) {
      cutShort.push(delivery);
      return;
    }
    const at = now();
    const attempts = delivery.attempts + 1;
    const verdict = judgeAttempt(end, { attempts, backOffMs: times.backOffMs, at, random });
    const dueAt = verdict.state === 'pending' ? new Date(at.getTime() + verdict.waitMs) : at;
    const { state } = verdict;
    const { status } = end;
    const durationMs = Math.round(performance.now() - startedMs);
    const error = status === null ? end.error : refusalOf(status);
    ended.push({ delivery, startedAt, durationMs, status, error, state, dueAt, at });
    news.abort();
    const { id: deliveryId, replica_id: replicaId, event_type: event } = delivery;
    log.info({ deliveryId, replicaId, event, attempts, state, status, durationMs }, 'webhook.attempt');
  }

  /** Null when the service stops before the receiver has answered. */
  async function attemptEnd(delivery: store.TakenDelivery, at: Date): Promise<AttemptEnd | null> {
    try {
      const body = Buffer.from(delivery.body);
      const headers = webhookHeaders({
        deliveryId: delivery.id,
        event: { id: delivery.event_id, type: delivery.event_type },
        replicaId: delivery.replica_id,
        body,
        secret: secretOf(delivery),
        at,
      });
      return await send({ url: delivery.url, headers, body }, stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return null;
      log.error({ deliveryId: delivery.id, err: describeError(error) }, 'webhook.unsendable');
      return { status: null, error: 'The service could not make the request.', isFinal: false };
    }
  }

  function secretOf({ sealed_secret, replica_id }: store.TakenDelivery): string | null {
    if (sealed_secret === null) return null;
    return sealer.open(sealed_secret, sealedContext('replica', 'webhook_secret', replica_id));
  }

  return {
    run,
    /** Lets attempts end or cuts them short, and gives back what they were for. Called when `run` has ended. */
    async close(): Promise<void> {
      hints[Symbol.dispose]();
      const arrivals = Promise.all([...onTheWay.values()].map(({ arrival }) => arrival));
      const patience = new AbortController();
      await Promise.race([
        arrivals,
        sleep(times.graceMs, undefined, { signal: patience.signal }).catch(() => {}),
      ]);
      patience.abort();
      stopping.abort();
      await arrivals;
      await transact(db, async (tx) => {
        await store.recordAttempts(tx, ended);
        await store.giveBack(tx, { taken: cutShort, at: now() });
      }).catch((error: unknown) => log.warn({ err: describeError(error) }, 'webhook.not_given_back'));
    },
  };
}

function refusalOf(status: number): string | null {
  return status >= 300 && status < 400 ? 'The receiver redirects, which is not followed.' : null;
}
