import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import type { Logger } from 'pino';
import { createNamedStatements, toKyselyPool } from './named-statements.ts';
import { runDirectly } from './prepared.ts';
import type { DB } from './schema.ts';

/** The database as a service sees it: the pool for a read, the request's transaction for a write. */
export type Db = Kysely<DB>;
export type Tx = Transaction<DB>;

export type Database = { url: string; db: Db; pool: pg.Pool; close(): Promise<void> };

const STATEMENT_LIMIT_MS = 30_000;

export function openDatabase(options: { url: string; poolSize: number; log: Logger }): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: 10_000,
    // A statement that runs away must not hold its locks, or its caller, for ever.
    statement_timeout: STATEMENT_LIMIT_MS,
    // The server's own limit does not help when the server itself hangs.
    query_timeout: STATEMENT_LIMIT_MS + 10_000,
    idle_in_transaction_session_timeout: 60_000,
    application_name: 'replica',
  });
  // A connection that breaks is replaced on the next use. Whoever holds it learns of it by the failing query; the event
  // comes besides, and without a listener it would end the process. The pool repeats it for idle connections.
  pool.on('connect', (client) => {
    client.on('error', (error) => options.log.warn({ err: error }, 'database.connection_lost'));
  });
  pool.on('error', () => {});
  const run = createNamedStatements();
  const db = new Kysely<DB>({ dialect: new PostgresDialect({ pool: toKyselyPool(pool, run) }) });
  runDirectly(db, async (text, values) => {
    const client = await pool.connect();
    try {
      return (await run(client, text, values)).rows;
    } finally {
      client.release();
    }
  });
  return { url: options.url, db, pool, close: () => db.destroy() };
}

export class DatabaseUnreachableError extends Error {
  override name = 'DatabaseUnreachableError';
}

/** The database itself when it answers; otherwise it is closed, with the one line an operator needs. */
export async function requireAnswer(database: Database, name: string): Promise<Database> {
  try {
    await database.pool.query('select 1');
    return database;
  } catch (error) {
    await database.close();
    throw new DatabaseUnreachableError(`the database of ${name} does not answer: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return (message || code || 'unknown reason').split('\n')[0] ?? '';
}
