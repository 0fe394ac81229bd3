import { expect, test } from 'vitest';
import { z } from 'zod';
import { releaseDeadWorkers } from '../../src/work/dead-workers.ts';
import { enqueue } from '../../src/work/enqueue.ts';
import { createSettler } from '../../src/work/settle.ts';
import { defineTask, type TaskContext } from '../../src/work/task.ts';
import { takeWorkerLock } from '../../src/work/worker-lock.ts';
import { forkWorker, type Harness, openHarness } from './harness.ts';

const DEAD = 'worker-00000000000000aa';

test('the job of a killed process runs again elsewhere, with its attempt given back, and no live job is doubled', async () => {
  const harness = await openHarness();
  const victim = await forkWorker(harness.url);
  const { workerId: victimId } = (await victim.next()) as { workerId: string };
  await enqueue(harness.db, {
    name: 'hold',
    payload: { label: 'of the victim' },
    maxAttempts: 1,
    queue: 'q',
  });
  expect(await victim.next()).toEqual({ started: 'of the victim', attempt: 1 });
  expect(await harness.jobs()).toMatchObject([{ locked_by: victimId }]);

  // The long job goes to a process that knows another task, so that it is certain who runs it.
  const alive = steered('long');
  const survivor = await harness.start({ tasks: [alive.task] });
  await enqueue(harness.db, { name: 'long', payload: { label: 'of the survivor' } });
  const long = await alive.started();

  const heir = await forkWorker(harness.url);
  expect(await heir.next()).toHaveProperty('workerId');
  await victim.kill();
  expect(await heir.next()).toEqual({ started: 'of the victim', attempt: 1 });

  expect(alive.count()).toBe(1);
  expect(long.signal.aborted).toBe(false);
  const held = await harness.jobs();
  expect(held.map((job) => job.locked_by)).toContain(survivor.workerId);
  expect(held.map((job) => job.locked_by)).not.toContain(victimId);
  alive.end();
});

test('a worker whose lock session is ended aborts its tasks and goes on under a new id', async () => {
  const harness = await openHarness();
  const hold = steered('hold');
  const workers = await harness.start({ tasks: [hold.task] });
  const firstId = workers.workerId;
  await enqueue(harness.db, { name: 'hold', payload: { label: 'x' }, maxAttempts: 1 });
  const first = await hold.started();
  await harness.pool.query(
    `select pg_terminate_backend(pid) from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`,
  );
  const second = await hold.started();
  expect(first.signal.aborted).toBe(true);
  expect(second.attempt).toBe(1);
  expect(workers.workerId).not.toBe(firstId);
  expect(await harness.jobs()).toMatchObject([{ locked_by: workers.workerId, attempts: 1 }]);
  hold.end();
  expect((await harness.jobLines(2)).map((line) => line.outcome)).toEqual(['interrupted', 'done']);
});

test('a database that ends every session is survived', async () => {
  const harness = await openHarness();
  const hold = steered('hold');
  await harness.start({ tasks: [hold.task] });
  await enqueue(harness.db, { name: 'hold', payload: { label: 'x' } });
  await hold.started();
  await harness.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where pid <> pg_backend_pid() and datname = current_database()`,
  );
  await hold.started();
  hold.end();
  await expect.poll(harness.jobs, { timeout: 10_000 }).toEqual([]);
});

test('a job that ends after it was taken from its worker leaves the newer job of its key alone', async () => {
  const harness = await openHarness();
  const { id } = await enqueue(harness.db, { name: 'hold', payload: { n: 1 }, key: 'k' });
  await hold(harness, id, DEAD);
  await sweepTwice(harness);
  expect((await enqueue(harness.db, { name: 'hold', payload: { n: 2 }, key: 'k' })).id).toBe(id);
  const settler = createSettler({ pool: harness.pool, workerId: DEAD });
  expect(await settler.complete(id)).toBe(false);
  expect(await harness.jobs()).toMatchObject([{ id, payload: { n: 2 }, is_available: true }]);
});

test('an id is released the second time it is found dead, and only an id of ours', async () => {
  const harness = await openHarness();
  const lock = await takeWorkerLock({ pool: harness.pool });
  const owners = [DEAD, lock.workerId, 'pool-of-somebody-else', 'worker-nonsense'];
  for (const owner of owners) {
    const { id } = await enqueue(harness.db, { name: 'hold', payload: {}, queue: owner });
    await hold(harness, id, owner);
  }
  const first = await releaseDeadWorkers({ pool: harness.pool, suspects: [] });
  expect(first).toEqual({ released: [], suspects: [DEAD], jobs: 0 });
  const second = await releaseDeadWorkers({ pool: harness.pool, suspects: first.suspects });
  expect(second).toEqual({ released: [DEAD], suspects: [], jobs: 1 });
  const left = [null, ...owners.slice(1)];
  expect((await harness.jobs()).map((job) => job.locked_by)).toEqual(left);
  const queues = await harness.pool.query(
    'select locked_by from graphile_worker._private_job_queues order by id',
  );
  expect(queues.rows.map((row) => row.locked_by)).toEqual(left);
  lock.release();
});

test('a job that was replaced while it ran is not tried again after the death of its worker', async () => {
  const harness = await openHarness();
  const { id } = await enqueue(harness.db, { name: 'hold', payload: { n: 1 }, key: 'k' });
  await hold(harness, id, DEAD);
  await enqueue(harness.db, { name: 'hold', payload: { n: 2 }, key: 'k' });
  await sweepTwice(harness);
  expect(await harness.jobs()).toMatchObject([
    { id, is_available: false },
    { payload: { n: 2 }, is_available: true, attempts: 0 },
  ]);
});

test('the locks of a live worker are renewed, and only its own', async () => {
  const harness = await openHarness();
  const mine = await enqueue(harness.db, { name: 'hold', payload: {}, queue: 'q' });
  const other = await enqueue(harness.db, { name: 'hold', payload: {} });
  await hold(harness, mine.id, DEAD);
  await hold(harness, other.id, 'worker-00000000000000bb');
  await harness.pool.query(
    `update graphile_worker._private_jobs set locked_at = locked_at - interval '5 hours'`,
  );
  await harness.pool.query(
    `update graphile_worker._private_job_queues set locked_at = locked_at - interval '5 hours'`,
  );
  await createSettler({ pool: harness.pool, workerId: DEAD }).renew();
  const { rows } = await harness.pool.query(
    `select id::text, locked_at > now() - interval '1 hour' as young from graphile_worker._private_jobs
     union all select 'queue', locked_at > now() - interval '1 hour' from graphile_worker._private_job_queues`,
  );
  const young = Object.fromEntries(rows.map((row) => [row.id, row.young]));
  expect(young).toEqual({ [mine.id]: true, [other.id]: false, queue: true });
});

test('deaths are free at first, then wait, and at last cost an attempt', async () => {
  const harness = await openHarness();
  const { id } = await enqueue(harness.db, { name: 'hold', payload: {}, maxAttempts: 1 });
  const seen: { attempts: number; later: boolean; available: boolean }[] = [];
  for (let death = 1; death <= 11; death++) {
    await hold(harness, id, DEAD);
    await sweepTwice(harness);
    const { rows } = await harness.pool.query(
      'select attempts::int, run_at > now() as later, is_available as available from graphile_worker._private_jobs',
    );
    seen.push(rows[0]);
  }
  expect(seen.slice(0, 3)).toEqual(Array(3).fill({ attempts: 0, later: false, available: true }));
  expect(seen.slice(3, 10)).toEqual(Array(7).fill({ attempts: 0, later: true, available: true }));
  expect(seen[10]).toEqual({ attempts: 1, later: true, available: false });
  expect((await harness.jobs())[0]?.last_error).toBe(
    'The worker process died while it held this job (11 in a row).',
  );
});

test('an id whose lock somebody holds is not taken', async () => {
  const { pool } = await openHarness();
  const ids = ['worker-ffffffffffffffff', 'worker-ffffffffffffffff', 'worker-0000000000000001'];
  const newWorkerId = () => ids.shift() ?? '';
  const first = await takeWorkerLock({ pool, newWorkerId });
  const second = await takeWorkerLock({ pool, newWorkerId });
  expect([first.workerId, second.workerId]).toEqual(['worker-ffffffffffffffff', 'worker-0000000000000001']);
  first.release();
  second.release();
});

/** Locks a job and its queue the way the library does when it takes them. */
async function hold({ pool }: Harness, jobId: string, workerId: string): Promise<void> {
  await pool.query(
    `with taken as (
       update graphile_worker._private_jobs set attempts = attempts + 1, locked_by = $2, locked_at = now()
        where id = $1 returning job_queue_id
     )
     update graphile_worker._private_job_queues set locked_by = $2, locked_at = now()
       from taken where id = job_queue_id`,
    [jobId, workerId],
  );
}

async function sweepTwice({ pool }: Harness): Promise<void> {
  const { suspects } = await releaseDeadWorkers({ pool, suspects: [] });
  await releaseDeadWorkers({ pool, suspects });
}

/** A task that runs until it is aborted or `end` is called. */
function steered(name: string) {
  const contexts: TaskContext[] = [];
  const ending = new AbortController();
  let count = 0;
  let wake = () => {};
  const task = defineTask({
    name,
    payload: z.object({ label: z.string() }),
    async run(_, context) {
      contexts.push(context);
      count++;
      wake();
      const over = AbortSignal.any([context.signal, ending.signal]);
      await new Promise<void>((resolve) => over.addEventListener('abort', () => resolve()));
      context.signal.throwIfAborted();
    },
  });
  async function started(): Promise<TaskContext> {
    for (;;) {
      const context = contexts.shift();
      if (context) return context;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return { task, started, count: () => count, end: () => ending.abort() };
}
