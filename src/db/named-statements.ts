import { createHash } from 'node:crypto';
import type { PostgresPool, PostgresPoolClient } from 'kysely';
import type pg from 'pg';

/** Statements one connection keeps prepared; a text beyond that is sent unnamed. */
const MAX_NAMES = 1_000;

/**
 * Wraps a pool so that every parameterized statement is named and PostgreSQL parses and plans it once
 * per connection. Texts come from our own query builder, so their number is bounded.
 */
export function nameStatements(pool: pg.Pool): PostgresPool {
  const names = new Map<string, string>();
  const nameOf = (text: string): string | undefined => {
    const known = names.get(text);
    if (known || names.size >= MAX_NAMES) return known;
    const name = `s${createHash('sha256').update(text).digest('base64url').slice(0, 24)}`;
    names.set(text, name);
    return name;
  };
  return {
    options: pool.options,
    async connect() {
      const client = await pool.connect();
      // Kysely calls with a text and its values, and with a cursor only when streaming rows, which we do not.
      const query = (text: string, values: readonly unknown[]) =>
        values.length > 0
          ? client.query({ name: nameOf(text), text, values: values as unknown[] })
          : client.query(text);
      return {
        query: query as unknown as PostgresPoolClient['query'],
        release: (destroy) => client.release(destroy),
      };
    },
    end: () => pool.end(),
  };
}
