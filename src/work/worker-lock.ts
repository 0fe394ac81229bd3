/*
 * The proof that a worker id lives: a session-level advisory lock, held on a connection that does nothing else.
 *
 * - The id contains the 64 random bits that are the key of its lock, so there is no hash that two ids could share, and
 *   a key that somebody else holds is refused when it is taken.
 * - The lock is taken before the id takes any job, and an id that lost its lock never gets it back. So whoever sees a
 *   job under an id, and then the lock of that id free, knows that the id is dead for good.
 * - The worker gives up before the server does. It asks the server once a second and calls the lock lost when an
 *   answer takes 3 s; the server drops a silent connection, and with it the lock, after 10 s at the earliest.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';

export type WorkerLock = {
  workerId: string;
  /** Aborts when the lock is lost, not when it is released. */
  lost: AbortSignal;
  release(): void;
};

const PREFIX = 'worker-';

/** What an id looks like, as a PostgreSQL pattern. Other ids in the job tables are not ours to judge. */
export const WORKER_ID_PATTERN = `^${PREFIX}[0-9a-f]{16}$`;

/** The SQL for the lock key of the worker id that the SQL `id` names. */
export function lockKeyOf(id: string): string {
  return `('x' || substr(${id}, ${PREFIX.length + 1}))::bit(64)::bigint`;
}

const HEARTBEAT_MS = 1_000;
const ANSWER_MS = 3_000;
/** An answer that waits in the socket of a process that was blocked is read within this time. */
const LATE_ANSWER_MS = 100;

export async function takeWorkerLock({
  pool,
  newWorkerId = randomWorkerId,
}: {
  pool: Pool;
  newWorkerId?: () => string;
}): Promise<WorkerLock> {
  const client = await pool.connect();
  const lost = new AbortController();
  const closed = new AbortController();

  function close(): void {
    if (closed.signal.aborted) return;
    closed.abort();
    // The connection is destroyed, never reused: its session holds the lock.
    client.release(true);
  }
  function lose(cause: unknown): void {
    if (closed.signal.aborted) return;
    lost.abort(new Error('The worker lost the database session that holds its lock.', { cause }));
    close();
  }
  client.on('error', lose);
  client.once('end', () => lose(new Error('The connection ended.')));

  try {
    await setServerTimeouts(client);
    const { workerId, backendPid } = await lockFreeId(client, newWorkerId);
    watch({ client, backendPid, closed: closed.signal }).catch(lose);
    return { workerId, lost: lost.signal, release: close };
  } catch (error) {
    close();
    throw error;
  }
}

function randomWorkerId(): string {
  return PREFIX + randomBytes(8).toString('hex');
}

/** Lets the server notice within 10 to 12 s that the machine of the worker is gone. Unix sockets ignore these. */
async function setServerTimeouts(client: PoolClient): Promise<void> {
  await client.query(
    `select set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '2', false),
            set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '10000', false)`,
  );
}

async function lockFreeId(
  client: PoolClient,
  newWorkerId: () => string,
): Promise<{ workerId: string; backendPid: number }> {
  for (;;) {
    const workerId = newWorkerId();
    const { rows } = await client.query<{ locked: boolean; pid: number }>(
      `select pg_try_advisory_lock(${lockKeyOf('$1::text')}) as locked, pg_backend_pid() as pid`,
      [workerId],
    );
    if (rows[0]?.locked) return { workerId, backendPid: rows[0].pid };
  }
}

/** Ends when the lock is released, and throws when it can no longer be counted on. */
async function watch(options: {
  client: PoolClient;
  backendPid: number;
  closed: AbortSignal;
}): Promise<void> {
  const { client, backendPid, closed } = options;
  while (!closed.aborted) {
    const answer = client
      .query<{ pid: number }>('select pg_backend_pid() as pid')
      .then(({ rows }) => rows[0]?.pid);
    const pid = await Promise.race([answer, noAnswer(closed)]);
    if (closed.aborted) return;
    // A connection pooler between us and the server may hand us another session, which holds no lock.
    if (pid !== backendPid) throw new Error(pid ? 'The session changed.' : 'The server does not answer.');
    await delay(HEARTBEAT_MS, undefined, { signal: closed, ref: false }).catch(() => undefined);
  }
}

async function noAnswer(closed: AbortSignal): Promise<undefined> {
  const options = { signal: closed, ref: false };
  await delay(ANSWER_MS, undefined, options).catch(() => undefined);
  await delay(LATE_ANSWER_MS, undefined, options).catch(() => undefined);
}
