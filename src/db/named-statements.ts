import { createHash } from 'node:crypto';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';

/** Statements one connection keeps prepared; a text beyond that is sent unnamed. */
const MAX_NAMES = 1_000;

type Run = (client: pg.PoolClient, text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;

/**
 * Runs statements so that every parameterized one is named and PostgreSQL parses and plans it once per connection.
 * Texts come from our own query builder, so their number is bounded.
 */
export function createNamedStatements(): Run {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known || names.size >= MAX_NAMES) return known;
    const name = `s${createHash('sha256').update(text).digest('base64url').slice(0, 24)}`;
    names.set(text, name);
    return name;
  };
  return (client, text, values) =>
    values.length > 0 ? runNamed(client, { name: nameOf(text), text, values }) : client.query(text);
}

/** The pool as Kysely wants it. */
export function toKyselyPool(pool: pg.Pool, run: Run): PostgresPool {
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect();
      // Kysely calls with a text and its values, and with a cursor only when streaming rows, which we do not.
      const query = (text: string, values: readonly unknown[]) => run(client, text, values);
      return {
        query: query as unknown as PostgresPoolClient['query'],
        release: (destroy) => client.release(destroy),
      };
    },
    end: () => pool.end(),
  };
}

type Statement = { name: string | undefined; text: string; values: readonly unknown[] };

/** The same as `client.query({ name, text, values })`, without the copy that pg makes of such an object. */
function runNamed(client: pg.PoolClient, { name, text, values }: Statement): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const query: pg.Query & { name?: string } = new pg.Query(text, [...values], (error, result) => {
      if (error) reject(error);
      else resolve(result);
    });
    if (name) query.name = name;
    client.query(query);
  });
}
