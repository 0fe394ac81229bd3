import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';

const folder = path.resolve(import.meta.dirname, '../../migrations');

/** Held while migrating, so that processes which start together apply each file once. */
const LOCK_KEY = 7_070_001;

export class MigrationError extends Error {
  override name = 'MigrationError';
}

export type Migration = { version: number; name: string; sql: string; checksum: string };

/** Applies what is missing, in order, one transaction each. Returns the names applied now. */
export async function migrate(pool: pg.Pool, migrations?: Migration[]): Promise<string[]> {
  const wanted = migrations ?? (await readMigrations());
  // The pool's limits are for requests: a migration may rewrite a large table, and another process waits for as long
  // as that takes. Ending the session frees the lock.
  const client = new pg.Client({ ...pool.options, statement_timeout: 0, query_timeout: 0 });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY]);
    return await applyMissing(client, wanted);
  } finally {
    await client.end();
  }
}

export async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).sort();
  return Promise.all(
    files.map(async (file) => {
      const sql = await readFile(path.join(folder, file), 'utf8');
      const checksum = createHash('sha256').update(sql).digest('hex');
      return { version: Number.parseInt(file, 10), name: file.replace(/\.sql$/, ''), sql, checksum };
    }),
  );
}

async function applyMissing(client: pg.Client, wanted: Migration[]): Promise<string[]> {
  await client.query(`create table if not exists schema_migration (
    version integer primary key, name text not null, checksum text not null, applied_at timestamptz not null default now())`);
  const { rows } = await client.query<{ version: number; name: string; checksum: string }>(
    'select version, name, checksum from schema_migration order by version',
  );
  const applied = new Map(rows.map((row) => [row.version, row]));
  refuseForeignHistory(wanted, rows);
  const missing = wanted.filter((migration) => !applied.has(migration.version));
  for (const migration of missing) await applyOne(client, migration);
  return missing.map((migration) => migration.name);
}

async function applyOne(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query(migration.sql);
    await client.query('insert into schema_migration (version, name, checksum) values ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.checksum,
    ]);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw new MigrationError(`migration ${migration.name} failed: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** A database that a newer release migrated, or whose files were edited, is not ours to touch. */
function refuseForeignHistory(
  wanted: Migration[],
  applied: { version: number; name: string; checksum: string }[],
): void {
  const known = new Map(wanted.map((migration) => [migration.version, migration]));
  for (const row of applied) {
    const migration = known.get(row.version);
    if (!migration) {
      throw new MigrationError(
        `the database has migration ${row.name}, which this release does not know: start the newer release`,
      );
    }
    if (migration.checksum !== row.checksum) {
      throw new MigrationError(`migration ${row.name} differs from what was applied to this database`);
    }
  }
}
