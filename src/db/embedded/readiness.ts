import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { ROLE } from './cluster.ts';
import { SOCKET_PORT } from './socket-folder.ts';

/** Each refused attempt is a line in the server's log: quick at first, sparing in a long recovery. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 250;
const PAUSE_GROWTH = 1.1;
const PROGRESS_EVERY_MS = 5_000;
const UNREACHABLE_AFTER_ATTEMPTS = 20;

/** SQLSTATE classes of a server that is starting up, shutting down, or has no free slot at this moment. */
const NOT_NOW = new Set(['57P03', '57P01', '53300']);
const NO_SUCH_DATABASE = '3D000';
const DATABASE_EXISTS = new Set(['42P04', '23505']);
const NO_LISTENER = new Set(['ENOENT', 'ECONNREFUSED']);

export type Readiness = 'ready' | 'gone' | 'unreachable';

type Watch = {
  socketFolder: string;
  isGone: () => boolean;
  /** True when the server itself believes that it takes connections. */
  believesReady: () => boolean;
  onProgress: (line: string) => void;
  signal: AbortSignal | undefined;
};

/**
 * Waits until the database answers, through crash recovery however long it takes. `gone`: the server ended first.
 * `unreachable`: it lives and believes itself ready, but its socket has been removed.
 */
export async function waitUntilReady(watch: Watch): Promise<Readiness> {
  let nextProgress = performance.now() + PROGRESS_EVERY_MS;
  let pauseMs = FIRST_PAUSE_MS;
  let deafAttempts = 0;
  for (;;) {
    watch.signal?.throwIfAborted();
    const refusal = await tryConnect(watch.socketFolder, ROLE);
    if (refusal === undefined) return 'ready';
    if (watch.isGone()) return 'gone';
    if (refusal.code === NO_SUCH_DATABASE) {
      await createDatabase(watch.socketFolder);
      continue;
    }
    if (!refusal.isTemporary) throw refusal.error;
    deafAttempts = NO_LISTENER.has(refusal.code) && watch.believesReady() ? deafAttempts + 1 : 0;
    if (deafAttempts >= UNREACHABLE_AFTER_ATTEMPTS) return 'unreachable';
    if (performance.now() > nextProgress) {
      watch.onProgress(`Waiting for the database: ${refusal.error.message}.`);
      nextProgress += PROGRESS_EVERY_MS;
    }
    pauseMs = Math.min(pauseMs * PAUSE_GROWTH, LONGEST_PAUSE_MS);
    await delay(pauseMs, undefined, { signal: watch.signal });
  }
}

/** For `pg` and for psql alike. Port and TLS mode are spelled out so that PG* variables do not change them. */
export function connectionStringOf(socketFolder: string, database: string): string {
  const host = encodeURIComponent(socketFolder);
  return `postgresql://${ROLE}@/${database}?host=${host}&port=${SOCKET_PORT}&sslmode=disable`;
}

type Refusal = { code: string; isTemporary: boolean; error: Error };

async function tryConnect(socketFolder: string, database: string): Promise<Refusal | undefined> {
  const client = makeClient(socketFolder, database);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return undefined;
  } catch (cause) {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    const code = codeOf(error);
    // Without a code it is a connection that broke or timed out: the server is going, coming, or busy.
    const isTemporary =
      code === '' || NOT_NOW.has(code) || NO_LISTENER.has(code) || code === 'ECONNRESET' || code === 'EPIPE';
    return { code, isTemporary, error };
  } finally {
    await client.end().catch(() => {});
  }
}

async function createDatabase(socketFolder: string): Promise<void> {
  const client = makeClient(socketFolder, 'postgres');
  try {
    await client.connect();
    await client.query(`CREATE DATABASE ${ROLE}`);
  } catch (error) {
    if (!DATABASE_EXISTS.has(codeOf(error))) throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

function makeClient(socketFolder: string, database: string): pg.Client {
  const client = new pg.Client({
    connectionString: connectionStringOf(socketFolder, database),
    connectionTimeoutMillis: 5_000,
  });
  // A connection that breaks later also reports here; the pending call is what we look at.
  client.on('error', () => {});
  return client;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
