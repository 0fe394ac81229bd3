import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { afterCommit, transact } from '../../src/db/transact.ts';
import { createDatabase } from '../world/database.ts';

let own: Awaited<ReturnType<typeof createDatabase>>;
let database: Database;
let done: string[];
beforeAll(async () => {
  own = await createDatabase();
  database = openDatabase({ url: own.url, poolSize: 3, log: pino({ level: 'silent' }) });
  await database.pool.query('create table note (id int primary key)');
});
beforeEach(() => {
  done = [];
});
afterAll(async () => {
  await database.close();
  await own.drop();
});

const written = async (id: number) =>
  (await database.pool.query('select 1 from note where id = $1', [id])).rowCount === 1;

test('an effect runs once, when what the transaction did can be seen by others', async () => {
  let seen: Promise<boolean> | null = null;
  await transact(database.db, async (tx) => {
    await sql`insert into note values (1)`.execute(tx);
    afterCommit(tx, () => {
      done.push('effect');
      seen = written(1);
    });
    expect(done).toEqual([]);
  });
  expect(done).toEqual(['effect']);
  expect(await seen).toBe(true);
});

test('an effect of a transaction that is rolled back is dropped', async () => {
  const failed = transact(database.db, async (tx) => {
    afterCommit(tx, () => done.push('effect'));
    await sql`select 1 / 0`.execute(tx);
  });
  await expect(failed).rejects.toThrow(pg.DatabaseError);
  expect(done).toEqual([]);
});

test('of a transaction that is run again only the effects of the last run count', async () => {
  let runs = 0;
  await transact(database.db, async (tx) => {
    const run = ++runs;
    afterCommit(tx, () => done.push(`run ${run}`));
    if (run < 3) await sql`do $$ begin raise sqlstate '40001'; end $$`.execute(tx);
  });
  expect(done).toEqual(['run 3']);
});

test('outside of a transaction an effect runs at once', () => {
  afterCommit(database.db, () => done.push('effect'));
  expect(done).toEqual(['effect']);
});
