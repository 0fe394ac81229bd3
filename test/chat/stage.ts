import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { vi } from 'vitest';
import type { Caller } from '../../src/account/caller.ts';
import type { MessageBody } from '../../src/chat/acceptance.ts';
import { createEngineTurns } from '../../src/chat/engine-turns.ts';
import { createFetchImages } from '../../src/chat/fetch-image.ts';
import { createHandOver } from '../../src/chat/hand-over.ts';
import { type ChatService, createChatService, type TurnReport } from '../../src/chat/service.ts';
import { createComposeTurn } from '../../src/chat/turn-request.ts';
import { chatTasks } from '../../src/chat/worker.ts';
import { openDatabase } from '../../src/db/database.ts';
import { transact } from '../../src/db/transact.ts';
import { engineInfo, type TurnRequest } from '../../src/engine/protocol.ts';
import { newId } from '../../src/lib/ids.ts';
import { createSummarizeTurn } from '../../src/pull-request/turn-summary.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { createReplicaService } from '../../src/replica/service.ts';
import { insertSandbox, selectSandbox } from '../../src/sandbox/store.ts';
import { parseKeyRing } from '../../src/secret/key-ring.ts';
import { createSealer } from '../../src/secret/seal.ts';
import { createUsageService } from '../../src/usage/service.ts';
import { enqueue } from '../../src/work/enqueue.ts';
import { createLoop } from '../../src/work/loop.ts';
import { migrateWork } from '../../src/work/migrate.ts';
import { startWorkers } from '../../src/work/runner.ts';
import { createDatabase } from '../world/database.ts';
import { createStandInEngine } from './engine.ts';
import { insertReplica } from './replica-row.ts';

export type Stage = Awaited<ReturnType<typeof openStage>>;

/** Where the process that hands a message over ends, as if it were killed there; jobs have to do the rest. */
type Death = 'before it is sent' | 'before it is noted as sent' | null;

type Options = { dies?: Death; mayStart?: () => Promise<boolean> };

/** The services and workers of chats on a real database, with a stand-in in place of the engines. */
export async function openStage({ dies = null, mayStart = async () => true }: Options = {}) {
  await using opening = new AsyncDisposableStack();
  const database = await createDatabase();
  opening.defer(() => database.drop());
  const log = pino({ level: 'silent' });
  const { db, pool, close } = openDatabase({ url: database.url, poolSize: 8, log });
  opening.defer(close);
  await migrateWork(pool, log);

  const hostId = newId();
  const now = () => new Date();
  const unused = () => {
    throw new Error('no replica is created here');
  };
  const replicas = createReplicaService({
    environments: { forReplica: unused },
    repositories: { boundRepositories: unused },
    claim: unused,
    release: async () => {},
    onMoved: async () => {},
    onFailed: (tx, row) => chats.giveUp(tx, row, 'The sandbox is gone.'),
    usage: createUsageService({ newId }),
    signals: { touch() {} },
    allowPrivateTargets: true,
    policyTimes: {
      autoSleepMs: 3_600_000,
      deleteAfterInactivityMs: 3_600_000,
      deleteAfterSleepMs: 3_600_000,
    },
    hostId,
    sealer: createSealer(parseKeyRing(randomBytes(32).toString('base64'))),
    newId,
    now,
  });
  const chats: ChatService = createChatService({
    replicas,
    hasCredential: async () => true,
    isOfflineModelOn: false,
    noticeOf: async () => null,
    mayStart,
    summarizeTurn: createSummarizeTurn({ replicas }),
    onTurnEnded: async () => {},
    handOver: (row, turn) => dies !== 'before it is sent' && firstHandOver.begin(row, turn),
    hostId,
    newId,
    now,
  });
  const composeTurn = createComposeTurn({
    settings: { runner: 'scripted', silenceMs: 60_000, durationMs: 60_000 },
    programs: { request: () => 'installed', folderOf: (agent) => agent },
    credentialOf: async () => null,
    fetchImages: createFetchImages({ allowPrivateTargets: true }),
  });
  const engines = new Map<string, ReturnType<typeof createStandInEngine>>();

  const command = async (id: string, asked: { method: string; path: string; body?: unknown }) => {
    const engine = engines.get(id);
    if (!engine) throw new Error(`there is no sandbox ${id}`);
    return engine.command(asked);
  };
  const sandboxes = {
    find: selectSandbox,
    send: ({ id }: { id: string }, asked: { method: string; path: string; body?: unknown }) =>
      command(id, asked),
    inspect: async ({ id }: { id: string }) =>
      engineInfo.parse((await command(id, { method: 'GET', path: '/' })).body),
  };
  const engine = createEngineTurns({ db, sandboxes });
  const parts = { db, turns: chats.turns, replicas, engine, composeTurn, log, now };
  const handOver = createHandOver(parts);
  const markSent = () => Promise.reject(new Error('the process is killed here'));
  const firstHandOver =
    dies === null ? handOver : createHandOver({ ...parts, turns: { ...chats.turns, markSent } });
  opening.defer(() => Promise.all([handOver.close(), firstHandOver.close()]).then(() => {}));
  const queuePool = new pg.Pool({ connectionString: database.url, max: 8 });
  opening.defer(() => queuePool.end());
  const workers = await startWorkers({
    pool: queuePool,
    log,
    tasks: chatTasks({ db, chats, replicas, engine, handOver, hostId, now }),
    concurrency: 4,
    pollIntervalMs: 50,
  });
  opening.defer(() => workers.stop());
  const unsent = createLoop({
    name: 'chat.unsent',
    intervalMs: 100,
    run: () => chats.turns.requestUnsent(db),
    log,
  });
  opening.defer(() => unsent.stop());
  unsent.start();

  async function replica(
    state: ReplicaState = 'active',
    row: { lifecycle_policy?: string; host_id?: string } = {},
  ) {
    const organizationId = newId();
    const sandboxId = newId();
    await db
      .insertInto('organization')
      .values({ id: organizationId, name: 'Test', slug: organizationId })
      .execute();
    const id = await insertReplica(db, {
      organizationId,
      state,
      sandbox_id: sandboxId,
      host_id: hostId,
      ...row,
    });
    await insertSandbox(db, {
      id: sandboxId,
      organization_id: organizationId,
      purpose: 'replica',
      replica_id: id,
      host_id: hostId,
      secret: Buffer.from(sandboxId),
      secret_hash: Buffer.from(sandboxId),
      size: 'small',
      created_at: now(),
    });
    const engine = createStandInEngine();
    engines.set(sandboxId, engine);
    const caller: Caller = { organizationId, kind: 'org_key', keyId: newId(), personId: null, role: 'admin' };
    return actor({ id, caller, engine });
  }

  function actor({
    id,
    caller,
    engine,
  }: {
    id: string;
    caller: Caller;
    engine: ReturnType<typeof createStandInEngine>;
  }) {
    const key = { id, isStrict: false };
    const report = async (event: TurnReport) =>
      transact(db, async (tx) => {
        const row = await replicas.lock(tx, id);
        if (row) await chats.report(tx, row, event);
      });
    const held = <T>(
      work: (tx: typeof db, row: NonNullable<Awaited<ReturnType<typeof replicas.lock>>>) => Promise<T>,
    ) =>
      transact(db, async (tx) => {
        const row = await replicas.lock(tx, id);
        if (!row) throw new Error('the replica is gone');
        return work(tx, row);
      });
    return {
      id,
      caller,
      engine,
      report,
      held,
      send: (message: string, body: Pick<MessageBody, 'chat_id' | 'coding_agent' | 'images'> = {}) =>
        transact(db, (tx) => chats.send(tx, caller, { ...key, message, ...body })),
      queue: (chatId: string) => chats.queue.read(db, caller, { ...key, chatId }),
      clear: (chatId: string) => transact(db, (tx) => chats.queue.clear(tx, caller, { ...key, chatId })),
      remove: (chatId: string, messageId: string) =>
        transact(db, (tx) => chats.queue.remove(tx, caller, { ...key, chatId, messageId })),
      reorder: (chatId: string, messageId: string, position: number) =>
        transact(db, (tx) => chats.queue.reorder(tx, caller, { ...key, chatId, messageId, position })),
      interrupt: (chatId: string) =>
        transact(db, (tx) => chats.queue.interrupt(tx, caller, { ...key, chatId })),
      deleteChat: (chatId: string) => transact(db, (tx) => chats.remove(tx, caller, { ...key, chatId })),
      /** Waits until the engine has taken so many turns, and gives the last of them. */
      arrived: (count: number): Promise<TurnRequest> =>
        until(async () => engine.arrivals.length >= count && (engine.arrivals[count - 1] as TurnRequest)),
      async start({ id: turnId, chatId }: TurnRequest) {
        await report({ type: 'turn.started', payload: { turnId, chatId } });
      },
      async say({ id: turnId, chatId }: TurnRequest, text: string) {
        await report({
          type: 'turn.message',
          payload: { turnId, chatId, type: 'claude-assistant', payload: { text } },
        });
      },
      async finish(
        turn: TurnRequest,
        outcome: 'completed' | 'failed' | 'interrupted' = 'completed',
        error: string | null = null,
      ) {
        const payload = { turnId: turn.id, chatId: turn.chatId, outcome, error };
        await engine.end(turn, () => report({ type: 'turn.finished', payload }));
      },
      row: () => db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirstOrThrow(),
      messages: () =>
        db.selectFrom('message').selectAll().where('replica_id', '=', id).orderBy('id').execute(),
      events: () =>
        db.selectFrom('replica_event').selectAll().where('replica_id', '=', id).orderBy('seq').execute(),
      history: async () => {
        const row = await replicas.read(db, id);
        if (!row) throw new Error('the replica is gone');
        return chats.readHistory(db, row, { chatId: null, limit: 500, offset: 0 });
      },
    };
  }

  /** What the schedule does every minute. */
  const everyMinute = () => enqueue(db, { name: 'chat.dispatch_due', payload: {} });

  /** Waits until nothing is to be done for the chats of a replica, whatever may be at a later time. */
  const isIdle = (id: string) =>
    until(async () => {
      const { rows } = await sql`
        select from graphile_worker._private_jobs as job
          join graphile_worker._private_job_queues as queue on queue.id = job.job_queue_id
         where queue.queue_name = ${`chat:${id}`} and job.run_at <= now()`.execute(db);
      return rows.length === 0;
    });

  const everything = opening.move();
  return {
    everyMinute,
    isIdle,
    db,
    pool,
    chats,
    replicas,
    handOver,
    hostId,
    replica,
    close: () => everything.disposeAsync(),
  };
}

/** Waits until the condition gives something, and gives that. */
export function until<T>(condition: () => Promise<T | false | undefined>): Promise<T> {
  return vi.waitFor(
    async () => {
      const found = await condition();
      if (found === false || found === undefined) throw new Error('it did not come to that');
      return found;
    },
    { timeout: 20_000, interval: 10 },
  );
}
