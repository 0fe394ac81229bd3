import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Migration, MigrationError, migrate, readMigrations } from '../../src/db/migrate.ts';
import { onServer, withDatabase } from '../world/database.ts';

const name = `migrate_${randomBytes(6).toString('hex')}`;
let pool: pg.Pool;

beforeAll(async () => {
  await onServer(inject('serverUrl'), `create database ${name}`);
  pool = new pg.Pool({ connectionString: withDatabase(inject('serverUrl'), name) });
});
afterAll(async () => {
  await pool.end();
  await onServer(inject('serverUrl'), `drop database ${name} with (force)`);
});

const step = (version: number, sql: string, checksum = sql): Migration => ({
  version,
  name: `000${version}_step`,
  sql,
  checksum,
});

const first = step(1, 'create table a (id int)');
const second = step(2, 'insert into a values (1)');

describe('migrations', () => {
  test('processes that start together apply each file once', async () => {
    const migrations = [first, second];
    const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(pool, migrations)));
    expect(applied.flat().sort()).toEqual(['0001_step', '0002_step']);
    expect((await pool.query('select * from a')).rows).toEqual([{ id: 1 }]);
  });

  test("a process waits for another one's migration however long a statement of a request may run", async () => {
    const limitMs = 50;
    const impatient = new pg.Pool({
      connectionString: pool.options.connectionString,
      statement_timeout: limitMs,
    });
    const blocker = await pool.connect();
    try {
      // The other process holds the table, as it does in the middle of a file.
      await blocker.query('begin');
      await blocker.query('lock table schema_migration');
      const holding = migrate(impatient, [first, second]);
      const waiting = migrate(impatient, [first, second]);
      await expect
        .poll(async () => {
          const { rows } = await pool.query(
            `select count(*)::int as waiting from pg_stat_activity
              where datname = $1 and wait_event_type = 'Lock' and now() - query_start > $2 * interval '1 millisecond'`,
            [name, limitMs * 4],
          );
          return rows[0]?.waiting;
        })
        .toBe(2);
      await blocker.query('rollback');
      expect(await Promise.all([holding, waiting])).toEqual([[], []]);
    } finally {
      blocker.release(true);
      await impatient.end();
    }
  });

  test('a failing file leaves nothing of itself behind', async () => {
    const migrations = [first, second, step(3, 'create table b (id int); select nonsense')];
    await expect(migrate(pool, migrations)).rejects.toThrow(MigrationError);
    expect((await pool.query("select to_regclass('b') as b")).rows).toEqual([{ b: null }]);
  });

  test('a database of a newer release is left alone', async () => {
    await expect(migrate(pool, [first])).rejects.toThrow('start the newer release');
  });

  test('a file that changed after it was applied is noticed', async () => {
    const edited = step(2, second.sql, 'another checksum');
    await expect(migrate(pool, [first, edited])).rejects.toThrow('0002_step differs');
  });

  test("the project's own files are numbered without a gap", async () => {
    const versions = (await readMigrations()).map((migration) => migration.version);
    expect(versions).toEqual(versions.map((_, index) => index + 1));
  });
});
