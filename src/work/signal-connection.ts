import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from 'pino';
import { describeError } from '../lib/log.ts';

export type SignalConnection = {
  isUp(): boolean;
  /** Sends payloads to every process that listens; false when that was not possible. */
  send(payloads: string[]): Promise<boolean>;
  start(): Promise<void>;
  stop(): Promise<void>;
};

type Parts = {
  url: string;
  log: Logger;
  onHint: (payload: string) => void;
  onConnected: (connected: { isAgain: boolean }) => void;
};

const CHANNEL = 'replica_signal';
/** A server that is silently gone is noticed by this question. */
const HEARTBEAT_MS = 10_000;
const ANSWER_WITHIN_MS = 5_000;
const CLOSED_WITHIN_MS = 1_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 5_000;

type Session = {
  client: pg.Client;
  /** Asks one question after the other; once the connection is lost, every further one fails with the cause. */
  query: (text: string, values?: unknown[]) => Promise<unknown>;
  /** Rejects when the connection is lost, with the cause. */
  lost: Promise<never>;
  lose: (cause: unknown) => void;
};

/** One connection that listens and notifies, made anew for as long as it is wanted. */
export function createSignalConnection({ url, log, onHint, onConnected }: Parts): SignalConnection {
  let session: Session | null = null;
  let running: { stop: AbortController; ended: Promise<void> } | null = null;

  /** Ends when the connection is lost, with the cause, or when it is no longer wanted. */
  async function useUntilLost({ client, query, lost, lose }: Session, signal: AbortSignal): Promise<void> {
    const { promise: unwanted, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    const heartbeat = setInterval(() => query('select 1').catch(lose), HEARTBEAT_MS);
    try {
      await Promise.race([lost, unwanted]);
    } finally {
      clearInterval(heartbeat);
      signal.removeEventListener('abort', stop);
      session = null;
      await close(client);
    }
  }

  async function keepConnected(signal: AbortSignal, onTried: () => void): Promise<void> {
    let failures = 0;
    for (let isAgain = false; !signal.aborted; isAgain = true) {
      try {
        session = await connect(url, onHint);
        if (failures > 0) log.info('signals.connected_again');
        failures = 0;
        onConnected({ isAgain });
        onTried();
        await useUntilLost(session, signal);
      } catch (error) {
        if (failures === 0) log.warn({ err: describeError(error) }, 'signals.connection_lost');
        onTried();
        const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
        failures += 1;
        await delay(pauseMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  return {
    isUp: () => session !== null,
    async send(payloads) {
      if (!session) return false;
      const { query, lose } = session;
      try {
        await query('select pg_notify($1, payload) from unnest($2::text[]) payload', [CHANNEL, payloads]);
        return true;
      } catch (error) {
        // The server refuses when its queue is full; everything else means that it cannot be reached.
        if (!(error instanceof pg.DatabaseError)) lose(error);
        return false;
      }
    },
    async start() {
      if (running) return;
      const stop = new AbortController();
      const { promise: tried, resolve } = Promise.withResolvers<void>();
      running = { stop, ended: keepConnected(stop.signal, resolve) };
      await tried;
    },
    async stop() {
      running?.stop.abort();
      await running?.ended;
      running = null;
    },
  };
}

async function connect(url: string, onHint: (payload: string) => void): Promise<Session> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: ANSWER_WITHIN_MS,
    query_timeout: ANSWER_WITHIN_MS,
    keepAlive: true,
    application_name: 'replica signals',
  });
  const { promise: lost, reject: lose } = Promise.withResolvers<never>();
  // Whoever uses the session looks at it; one that fails while it is made tells so by itself.
  lost.catch(() => undefined);
  client.on('error', lose);
  client.on('end', () => lose(new Error('The connection ended.')));
  client.on('notification', ({ payload }) => onHint(payload ?? ''));
  try {
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    return { client, query: oneAfterTheOther(client), lost, lose };
  } catch (error) {
    await close(client);
    throw error;
  }
}

/** The client has no place for questions that wait. */
function oneAfterTheOther(client: pg.Client): Session['query'] {
  let last: Promise<unknown> = Promise.resolve();
  return (text, values) => {
    const asked = last.then(() => client.query(text, values));
    last = asked.catch((error: unknown) => {
      // Only what the server itself says leaves the connection fit for the next question.
      if (!(error instanceof pg.DatabaseError)) throw error;
    });
    last.catch(() => undefined);
    return asked;
  };
}

async function close(client: pg.Client): Promise<void> {
  const patience = new AbortController();
  const late = delay(CLOSED_WITHIN_MS, undefined, { signal: patience.signal }).catch(() => undefined);
  await Promise.race([client.end().catch(() => undefined), late]);
  patience.abort();
}
