import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { enqueue } from '../../src/work/enqueue.ts';
import { migrateWork } from '../../src/work/migrate.ts';
import { defineTask, PermanentError, type TaskContext } from '../../src/work/task.ts';
import { openHarness } from './harness.ts';

const named = z.object({ label: z.string() });

/** A task whose runs are seen and ended by the test. */
function steered(name: string, honoursAbort = true) {
  const runs: { label: string; context: TaskContext; end: PromiseWithResolvers<void> }[] = [];
  const waiting: PromiseWithResolvers<(typeof runs)[number]>[] = [];
  let seen = 0;
  const task = defineTask({
    name,
    payload: named,
    async run({ label }, context) {
      const end = Promise.withResolvers<void>();
      if (honoursAbort) context.signal.addEventListener('abort', () => end.reject(context.signal.reason));
      runs.push({ label, context, end });
      waiting.shift()?.resolve({ label, context, end });
      await end.promise;
    },
  });
  async function started() {
    const run = runs[seen];
    if (run) {
      seen++;
      return run;
    }
    const next = Promise.withResolvers<(typeof runs)[number]>();
    waiting.push(next);
    seen++;
    return next.promise;
  }
  return { task, runs, started };
}

describe('a job', () => {
  test('runs once when its transaction commits, and never when it rolls back', async () => {
    const { db, start, jobLines, jobs } = await openHarness();
    const labels: string[] = [];
    const note = defineTask({
      name: 'note',
      payload: named,
      run: async ({ label }) => void labels.push(label),
    });
    await start({ tasks: [note] });
    const refused = db.transaction().execute(async (tx) => {
      await enqueue(tx, { name: 'note', payload: { label: 'rolled back' } });
      throw new Error('refused');
    });
    await expect(refused).rejects.toThrow('refused');
    await db.transaction().execute((tx) => enqueue(tx, { name: 'note', payload: { label: 'committed' } }));
    await enqueue(db, { name: 'note', payload: { label: 'last' } });
    await jobLines(2);
    expect(labels.toSorted()).toEqual(['committed', 'last']);
    expect(await jobs()).toEqual([]);
  });

  test('replaces the waiting job of its key, or keeps its time when asked to', async () => {
    const { db, jobs } = await openHarness();
    const later = new Date(Date.now() + 3_600_000);
    const first = await enqueue(db, { name: 'note', payload: { n: 1 }, key: 'k', runAt: later });
    const kept = await enqueue(db, { name: 'note', payload: { n: 2 }, key: 'k', keyMode: 'preserve_run_at' });
    expect(await jobs()).toMatchObject([{ id: first.id, payload: { n: 2 }, later: true }]);
    await enqueue(db, { name: 'note', payload: { n: 3 }, key: 'k' });
    expect(await jobs()).toMatchObject([{ id: kept.id, payload: { n: 3 }, later: false }]);
  });

  test('is added although a worker takes the waiting job of its key at that moment', async () => {
    const { db, pool, jobs } = await openHarness();
    await enqueue(db, { name: 'note', payload: { n: 1 }, key: 'k' });
    const taker = await pool.connect();
    await taker.query('begin');
    await taker.query(
      `update graphile_worker._private_jobs set locked_at = now(), locked_by = 'worker-00000000000000ff', attempts = 1`,
    );
    const added = enqueue(db, { name: 'note', payload: { n: 2 }, key: 'k' });
    await expect
      .poll(
        async () =>
          (
            await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`.execute(
              db,
            )
          ).rows.length,
      )
      .toBe(1);
    await taker.query('commit');
    taker.release();
    const { id } = await added;
    expect(await jobs()).toMatchObject([
      { payload: { n: 1 }, key: null },
      { id, payload: { n: 2 }, key: 'k', is_available: true },
    ]);
  });

  test('waits for the other jobs of its queue, also those of another process', async () => {
    const { db, start, jobLines } = await openHarness();
    let running = 0;
    let most = 0;
    const order: string[] = [];
    const step = defineTask({
      name: 'step',
      payload: named,
      async run({ label }) {
        most = Math.max(most, ++running);
        order.push(label);
        await sql`select pg_sleep(0.01)`.execute(db);
        running--;
      },
    });
    await start({ tasks: [step] });
    await start({ tasks: [step] });
    const labels = Array.from({ length: 12 }, (_, n) => `step ${n}`);
    for (const label of labels) await enqueue(db, { name: 'step', payload: { label }, queue: 'replica-1' });
    const lines = await jobLines(12);
    expect(most).toBe(1);
    expect(order.toSorted()).toEqual(labels.toSorted());
    expect(lines.every((line) => line.outcome === 'done')).toBe(true);
  });

  test('is tried again after a while when it fails', async () => {
    const { db, pool, start, jobLines, jobs } = await openHarness();
    const attempts: number[] = [];
    const shaky = defineTask({
      name: 'shaky',
      payload: named,
      async run(_, { attempt }) {
        attempts.push(attempt);
        if (attempt === 1) throw new Error('not yet');
      },
    });
    await start({ tasks: [shaky] });
    await enqueue(db, { name: 'shaky', payload: { label: 'x' }, maxAttempts: 3 });
    await jobLines(1);
    await expect
      .poll(jobs)
      .toMatchObject([{ attempts: 1, last_error: 'not yet', later: true, locked_by: null }]);
    await pool.query('update graphile_worker._private_jobs set run_at = now()');
    const lines = await jobLines(2);
    expect(attempts).toEqual([1, 2]);
    expect(lines.map((line) => line.outcome)).toEqual(['retrying', 'done']);
  });

  test('fails for good, with its queue free and its payload unlogged, when the payload does not fit', async () => {
    const { db, start, jobLines, jobs, lines } = await openHarness();
    const strict = defineTask({ name: 'strict', payload: named, run: async () => undefined });
    await start({ tasks: [strict] });
    await enqueue(db, { name: 'strict', payload: { label: 7, other: 'hunter2' }, queue: 'q' });
    await enqueue(db, { name: 'strict', payload: { label: 'hunter2' }, queue: 'q' });
    const found = await jobLines(2);
    expect(found).toMatchObject([{ job: 'strict', attempt: 1, outcome: 'failed' }, { outcome: 'done' }]);
    expect(await jobs()).toMatchObject([
      { attempts: 25, is_available: false, last_error: 'The payload does not fit: label invalid_type.' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });

  test('fails for good when its task says that no attempt can help', async () => {
    const { db, start, jobLines, jobs } = await openHarness();
    const hopeless = defineTask({
      name: 'hopeless',
      payload: named,
      run: async () => Promise.reject(new PermanentError('The repository is gone.')),
    });
    await start({ tasks: [hopeless] });
    await enqueue(db, { name: 'hopeless', payload: { label: 'x' } });
    await jobLines(1);
    expect(await jobs()).toMatchObject([{ is_available: false, last_error: 'The repository is gone.' }]);
  });
});

describe('a schedule', () => {
  test('makes one job of each fire, however many processes hold it', async () => {
    const { pool, start } = await openHarness();
    const fires: string[] = [];
    const tick = defineTask({
      name: 'tick',
      payload: z.strictObject({ of: z.string() }),
      run: async (_, { firedAt }) => void fires.push(firedAt?.toISOString() ?? 'no time'),
    });
    await pool.query(
      `insert into graphile_worker._private_known_crontabs (identifier, known_since, last_execution)
       values ('tick', now() - interval '1 day', now() - interval '10 minutes')`,
    );
    const schedule = [{ name: 'tick', cron: '* * * * *', payload: { of: 'test' }, backfillMs: 5 * 60_000 }];
    await Promise.all([start({ tasks: [tick], schedule }), start({ tasks: [tick], schedule })]);
    await expect.poll(() => fires.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(5);
    await expect
      .poll(async () => (await pool.query('select 1 from graphile_worker._private_jobs')).rowCount)
      .toBe(0);
    expect(fires.toSorted()).toEqual([...new Set(fires)].toSorted());
    expect(fires).not.toContain('no time');
  });

  test.each([
    ['a task that does not exist', [{ name: 'absent', cron: '* * * * *' }], 'does not exist'],
    ['a pattern that is none', [{ name: 'tick', cron: 'often' }], 'Invalid cron pattern'],
    ['an id twice', Array(2).fill({ name: 'tick', cron: '* * * * *' }), 'Two schedules'],
  ])('stops the start when it has %s', async (_, schedule, message) => {
    const { start } = await openHarness();
    const tick = defineTask({ name: 'tick', payload: z.object({}), run: async () => undefined });
    await expect(start({ tasks: [tick], schedule })).rejects.toThrow(message);
  });
});

describe('stop', () => {
  test('lets a running job end and takes no other', async () => {
    const { db, start, jobs, lines } = await openHarness();
    const { task, started, runs } = steered('slow');
    const workers = await start({ tasks: [task], concurrency: 1 });
    await enqueue(db, { name: 'slow', payload: { label: 'first' } });
    const run = await started();
    const stopped = workers.stop();
    await enqueue(db, { name: 'slow', payload: { label: 'second' } });
    run.end.resolve();
    await stopped;
    expect(runs.map(({ label, context }) => [label, context.signal.aborted])).toEqual([['first', false]]);
    expect(lines.filter((line) => line.msg === 'job')).toMatchObject([{ outcome: 'done' }]);
    expect(await jobs()).toMatchObject([{ payload: { label: 'second' }, attempts: 0, locked_by: null }]);
  });

  test.each([
    ['that ends on its signal', true],
    ['that ignores its signal', false],
  ])('hands back a job %s, as if it had not been tried', async (_, honoursAbort) => {
    const { db, start, jobs } = await openHarness();
    const { task, started } = steered('slow', honoursAbort);
    const workers = await start({ tasks: [task], graceMs: 50, windDownMs: 50 });
    await enqueue(db, { name: 'slow', payload: { label: 'x' }, maxAttempts: 1, queue: 'q' });
    const run = await started();
    await workers.stop();
    expect(run.context.signal.aborted).toBe(true);
    expect(await jobs()).toMatchObject([
      { attempts: 0, locked_by: null, is_available: true, last_error: null },
    ]);
    const next = steered('slow');
    await start({ tasks: [next.task] });
    const again = await next.started();
    expect(again.context.attempt).toBe(1);
    again.end.resolve();
    run.end.resolve();
  });
});

test('processes that migrate the job tables at the same time all succeed', async () => {
  const { pool, log } = await openHarness();
  await pool.query('drop schema graphile_worker cascade');
  await Promise.all(Array.from({ length: 5 }, () => migrateWork(pool, log)));
  const { rows } = await pool.query('select count(*)::int as count from graphile_worker.migrations');
  expect(rows[0].count).toBeGreaterThan(0);
});
