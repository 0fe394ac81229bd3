import { expect, test } from 'vitest';
import { enqueue } from '../../src/work/enqueue.ts';
import { tidyJobTables } from '../../src/work/upkeep.ts';
import { type Harness, openHarness } from './harness.ts';

async function queues({ pool }: Harness): Promise<string[]> {
  const { rows } = await pool.query(
    'select queue_name from graphile_worker._private_job_queues order by queue_name',
  );
  return rows.map(({ queue_name }) => queue_name);
}

test('queues without a job go, those with one and those at work stay', async () => {
  const harness = await openHarness();
  const { db, pool } = harness;
  await enqueue(db, { name: 'note', payload: {}, queue: 'waiting' });
  await enqueue(db, { name: 'note', payload: {}, queue: 'later', runAt: new Date(Date.now() + 3_600_000) });
  await pool.query(`
    insert into graphile_worker._private_job_queues (queue_name) select 'old ' || n from generate_series(1, 500) as n;
    insert into graphile_worker._private_job_queues (queue_name, locked_at, locked_by) values ('at work', now(), 'w')`);
  await tidyJobTables(pool);
  expect(await queues(harness)).toEqual(['at work', 'later', 'waiting']);
});

test('a job that is being added keeps its queue', async () => {
  const harness = await openHarness();
  const { db, pool, jobs } = harness;
  await pool.query(`insert into graphile_worker._private_job_queues (queue_name) values ('q')`);
  const added = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const adding = db.transaction().execute(async (tx) => {
    await enqueue(tx, { name: 'note', payload: {}, queue: 'q' });
    added.resolve();
    await commit.promise;
  });
  await added.promise;
  // It waits for whoever adds a job, though not for long.
  await expect(tidyJobTables(pool)).rejects.toThrow('lock timeout');
  const tidied = tidyJobTables(pool);
  commit.resolve();
  await adding;
  await tidied;
  expect(await queues(harness)).toEqual(['q']);
  expect(await jobs()).toHaveLength(1);
});

test('a job that was given up goes after a day', async () => {
  const { db, pool, jobs } = await openHarness();
  const old = await enqueue(db, { name: 'note', payload: {}, queue: 'q' });
  const young = await enqueue(db, { name: 'note', payload: {} });
  const waiting = await enqueue(db, { name: 'note', payload: {} });
  await pool.query('alter table graphile_worker._private_jobs disable trigger all');
  await pool.query('update graphile_worker._private_jobs set attempts = max_attempts where id = any($1)', [
    [old.id, young.id],
  ]);
  await pool.query(
    `update graphile_worker._private_jobs set updated_at = now() - interval '25 hours' where id = any($1)`,
    [[old.id, waiting.id]],
  );
  await tidyJobTables(pool);
  expect((await jobs()).map(({ id }) => id)).toEqual([young.id, waiting.id]);
});

test('workers keep the tables tidy by themselves', async () => {
  const harness = await openHarness();
  await harness.pool.query(`insert into graphile_worker._private_job_queues (queue_name) values ('old')`);
  await harness.start({ tasks: [{ name: 'note', run: async () => undefined }] });
  await expect.poll(() => queues(harness)).toEqual([]);
});
