import { createHash } from 'node:crypto';
import type pg from 'pg';

/** When a key was last used is written now and then by the service itself, not by a request. */
const writtenInBackground = ['last_used_at'];

/**
 * A hash over every row of every table of ours. Two equal hashes mean that nothing was stored, changed or removed in
 * between. Jobs are to be drained first, since what they find out is stored as well.
 */
export async function hashContent(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query(await overTables(pool, contentOf));
  return createHash('sha256').update(JSON.stringify(rows)).digest('hex');
}

/** How many rows each table has. */
export async function countRows(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ name: string; value: string }>(
    await overTables(pool, () => 'count(*)::text'),
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]));
}

const statements = new WeakMap<pg.Pool, Promise<string[]>>();

async function overTables(pool: pg.Pool, value: () => string): Promise<string> {
  const tables = statements.get(pool) ?? listTables(pool);
  statements.set(pool, tables);
  const parts = (await tables).map(
    (table) => `select '${table}' as name, ${value()} as value from ${table} t`,
  );
  return `${parts.join(' union all ')} order by name`;
}

function contentOf(): string {
  const row = `(to_jsonb(t) - array['${writtenInBackground.join("','")}'])::text`;
  return `md5(coalesce(string_agg(${row}, ',' order by ${row}), ''))`;
}

async function listTables(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
  );
  return rows.map(({ name }) => name);
}
