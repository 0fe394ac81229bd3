import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { type Logger, pino } from 'pino';
import { onTestFinished, vi } from 'vitest';
import { migrateWork } from '../../src/work/migrate.ts';
import { startWorkers, type Workers, type WorkersOptions } from '../../src/work/runner.ts';
import { createDatabase } from '../world/database.ts';

export type Harness = Awaited<ReturnType<typeof openHarness>>;

/** One migrated database and the parts that stand on it, all gone when the test is over. */
export async function openHarness() {
  const database = await createDatabase();
  const pool = openPool(database.url);
  const lines: Record<string, unknown>[] = [];
  const log = collectingLog(lines);
  onTestFinished(async () => {
    await pool.end();
    await database.drop();
  });
  await migrateWork(pool, log);
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });

  return {
    url: database.url,
    pool,
    db,
    log,
    lines,
    async start(options: Pick<WorkersOptions, 'tasks'> & Partial<WorkersOptions>): Promise<Workers> {
      const ownPool = openPool(database.url);
      const workers = await startWorkers({
        pool: ownPool,
        log,
        sweepIntervalMs: 200,
        graceMs: 5_000,
        ...options,
      });
      onTestFinished(async () => {
        await workers.stop();
        await ownPool.end();
      });
      return workers;
    },
    async jobs(): Promise<
      { id: string; attempts: number; locked_by: string | null; last_error: string | null }[]
    > {
      const { rows } = await pool.query(
        `select id::text, attempts::int, max_attempts::int, locked_by, last_error, key, payload, run_at > now() as later,
                is_available from graphile_worker._private_jobs order by id`,
      );
      return rows;
    },
    async jobLines(count: number): Promise<Record<string, unknown>[]> {
      return vi.waitFor(
        () => {
          const found = lines.filter((line) => line.msg === 'job');
          if (found.length < count) throw new Error(`${found.length} of ${count} jobs are logged.`);
          return found;
        },
        { timeout: 20_000, interval: 10 },
      );
    },
  };
}

/** Starts `worker-process.ts`; `next` answers its next message. */
export async function forkWorker(url: string) {
  const child: ChildProcess = fork(new URL('./worker-process.ts', import.meta.url), [url]);
  const messages: unknown[] = [];
  let wake = () => {};
  child.on('message', (message) => {
    messages.push(message);
    wake();
  });
  const exited = once(child, 'exit');
  async function kill(): Promise<void> {
    child.kill('SIGKILL');
    await exited;
  }
  onTestFinished(kill);
  return {
    kill,
    async next(): Promise<unknown> {
      while (messages.length === 0) {
        await Promise.race([
          new Promise<void>((resolve) => {
            wake = resolve;
          }),
          exited.then(([code]) => Promise.reject(new Error(`The worker process ended with ${code}.`))),
        ]);
      }
      return messages.shift();
    },
  };
}

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 15 });
  pool.on('error', () => undefined);
  return pool;
}

function collectingLog(lines: Record<string, unknown>[]): Logger {
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)));
      done();
    },
  });
  return pino({ level: 'debug' }, sink);
}
