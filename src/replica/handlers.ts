import { notFound } from '../contract/error.ts';
import type { replicaOperations } from '../contract/replica.ts';
import type { Db } from '../db/database.ts';
import type { Handlers } from '../http/handler.ts';
import type { Signals } from '../work/signal.ts';
import { publicStatus } from './lifecycle.ts';
import { type DetailParts, presentCreated, presentDetails, presentListItem } from './present.ts';
import { type CreateBody, type ReplicaRow, type ReplicaService, replicaTopic } from './service.ts';
import { wakeIfAsleep } from './wake-if-asleep.ts';

type Parts = {
  replicas: ReplicaService;
  chats: {
    firstMessage(db: Db, row: ReplicaRow, body: CreateBody): Promise<unknown>;
    overview(db: Db, replicaId: string): Promise<Pick<DetailParts, 'chats' | 'lastChatMessage'>>;
  };
  /** What `include=environment` shows besides the engine's report. */
  describeEnvironment: (db: Db, row: ReplicaRow) => Promise<NonNullable<DetailParts['environment']>>;
  signals: Pick<Signals, 'follow'>;
  now: () => Date;
};

/** How long a create without a version header may take; then it answers with the replica as it is. */
const BLOCKING_LIMIT_MS = 15 * 60_000;

export function replicaHandlers(parts: Parts): Handlers<typeof replicaOperations> {
  const { replicas, chats, signals, now } = parts;

  /** The legacy answer, which comes when the replica is no longer being prepared. */
  async function untilPrepared(db: Db, id: string, signal: AbortSignal): Promise<ReplicaRow> {
    using news = signals.follow(replicaTopic(id));
    const giveUpAt = performance.now() + BLOCKING_LIMIT_MS;
    for (;;) {
      const row = await replicas.read(db, id);
      if (!row || publicStatus[row.state] === null) throw notFound('Replica');
      if (row.state !== 'preparing' || performance.now() > giveUpAt) return row;
      await news.next(signal, 1_000);
      signal.throwIfAborted();
    }
  }

  async function created(db: Db, row: ReplicaRow) {
    return { replica: presentCreated(row, await replicas.repositoriesOf(db, [row.id]), now()) };
  }

  return {
    async createReplica({ db, caller, body, headers }) {
      const row = await replicas.create(db, caller, body);
      await chats.firstMessage(db, row, body);
      const answer = { status: 201, body: await created(db, row) } as const;
      if (headers['x-service-api-version']) return answer;
      return {
        ...answer,
        settle: async (pool, signal) => created(pool, await untilPrepared(pool, row.id, signal)),
      };
    },

    async listReplicas({ db, caller, query }) {
      const { rows, total } = await replicas.list(db, caller, query);
      const bound = await replicas.repositoriesOf(
        db,
        rows.map((row) => row.id),
      );
      const listed = rows.map((row) =>
        presentListItem(
          row,
          bound.filter((each) => each.replica_id === row.id),
        ),
      );
      const { page, limit } = query;
      return {
        status: 200,
        body: { replicas: listed, total, page, limit, total_pages: Math.ceil(total / limit) },
      };
    },

    async getReplica({ db, caller, params, query }) {
      const found = await replicas.find(db, caller, params.id);
      const row = query.wake === 'false' ? found : await wakeIfAsleep(db, replicas, found);
      const [repositories, diffs, overview, environment] = await Promise.all([
        replicas.repositoriesOf(db, [row.id]),
        query.include.includes('diffs') ? replicas.diffsOf(db, row.id) : null,
        chats.overview(db, row.id),
        query.include.includes('environment') ? parts.describeEnvironment(db, row) : null,
      ]);
      const details = { ...overview, repositories, diffs, environment, at: now() };
      return { status: 200, body: { replica: presentDetails(row, details) } };
    },

    async deleteReplica({ db, caller, params }) {
      await replicas.remove(db, caller, params.id);
      return { status: 200, body: { success: true } };
    },

    async wakeReplica({ db, caller, params }) {
      const row = await replicas.request(db, await replicas.hold(db, caller, params.id), 'wake');
      return row.state === 'waking'
        ? { status: 202, body: { success: true, waking: true } }
        : { status: 200, body: { success: true, waking: false } };
    },

    async sleepReplica({ db, caller, params }) {
      await replicas.request(db, await replicas.hold(db, caller, params.id), 'sleep');
      return { status: 200, body: { success: true } };
    },

    async archiveReplica({ db, caller, params }) {
      await replicas.request(db, await replicas.hold(db, caller, params.id), 'archive');
      return { status: 200, body: { success: true } };
    },

    async getReplicaTimeline({ db, caller, params }) {
      const row = await replicas.find(db, caller, params.id);
      const steps = (await replicas.stepsOf(db, row.id)).map((step) => ({
        incarnation: step.incarnation,
        step: step.step,
        started_at: step.started_at.toISOString(),
        duration_ms: Math.round(step.duration_ms * 10) / 10,
        outcome: step.outcome as 'done',
        detail: step.detail,
      }));
      const start = row.start_kind ? { kind: row.start_kind, reason: row.start_reason } : null;
      return { status: 200, body: { start, steps } };
    },
  };
}
