import type { Duplex } from 'node:stream';
import { AppError } from '../contract/error.ts';
import type { Db } from '../db/database.ts';
import { createCounter } from '../gateway/slots.ts';
import type { ReplicaState } from '../replica/lifecycle.ts';
import type { ReplicaRow, ReplicaService } from '../replica/service.ts';
import { wakeIfAsleep } from '../replica/wake-if-asleep.ts';
import { EngineUnreachableError } from '../sandbox/engine-client.ts';
import type { SandboxService } from '../sandbox/service.ts';
import { isActivityOld } from './activity.ts';
import { RetryLaterError } from './retry-later.ts';

type Parts = {
  db: Db;
  replicas: Pick<ReplicaService, 'read' | 'lock' | 'request' | 'noteActivity'>;
  sandboxes: Pick<SandboxService, 'connect'>;
  now: () => Date;
};

const CONNECT_LIMIT_MS = 10_000;
/** A browser opens six at once and a development server's client one more; each costs a descriptor here. */
const MAX_CONNECTIONS = 512;
const RETRY_SECONDS = 2;

/** What to do with a request to a replica in each state. */
const readiness: Record<ReplicaState, 'ready' | 'not_yet' | 'archived' | 'failed'> = {
  preparing: 'not_yet',
  active: 'ready',
  falling_asleep: 'not_yet',
  sleeping: 'not_yet',
  waking: 'not_yet',
  archiving: 'archived',
  archived: 'archived',
  failed: 'failed',
  deleting: 'failed',
  deleted: 'failed',
};

/** The way to the ports of replicas that are awake; others are woken, or refused with the reason. */
export function createReach({ db, replicas, sandboxes, now }: Parts) {
  const connections = createCounter(MAX_CONNECTIONS);

  /** Opens a connection to a port, and closes it when whoever uses it is done. */
  async function connect(
    replica: ReplicaRow,
    port: number,
    use: (connection: Duplex) => Promise<void>,
  ): Promise<void> {
    const sandboxId = await requireAwake(replica);
    const release = connections.take(replica.id);
    if (!release) {
      const sentence = 'The replica has too many connections open; close some first.';
      throw new RetryLaterError('rate_limited', sentence, RETRY_SECONDS);
    }
    try {
      if (isActivityOld(replica, now())) await replicas.noteActivity(db, replica);
      const connection = await dial(sandboxId, port);
      await use(connection).finally(() => connection.destroy());
    } finally {
      release();
    }
  }

  async function dial(sandboxId: string, port: number): Promise<Duplex> {
    const limit = AbortSignal.timeout(CONNECT_LIMIT_MS);
    try {
      const { connection } = await sandboxes.connect(db, sandboxId, { port }, limit);
      // Who uses it hears of its end; without a listener an error would end the process.
      connection.on('error', () => connection.destroy());
      return connection;
    } catch (error) {
      if (!(error instanceof EngineUnreachableError)) throw error;
      const sentence = `Nothing answers on port ${port} of the replica; start the program that shall listen there.`;
      throw new AppError('upstream_unavailable', sentence, null, error);
    }
  }

  async function requireAwake(replica: ReplicaRow): Promise<string> {
    const state = readiness[replica.state];
    if (state === 'ready' && replica.sandbox_id) return replica.sandbox_id;
    if (state === 'archived') {
      throw new AppError('invalid_state', 'The replica is archived; wake it to see its previews.');
    }
    if (state === 'failed') {
      throw new AppError('invalid_state', 'A replica with status error has no previews; create another one.');
    }
    await wakeIfAsleep(db, replicas, replica);
    const sentence = 'The replica is waking up; try again in a moment.';
    throw new RetryLaterError('unavailable', sentence, RETRY_SECONDS);
  }

  return {
    connect,
    /** A preview that is used keeps its replica awake, also over one long connection. */
    async noteUse(id: string): Promise<void> {
      const row = await replicas.read(db, id);
      if (row?.state === 'active' && isActivityOld(row, now())) await replicas.noteActivity(db, row);
    },
  };
}
