/* A worker in a process of its own, to be killed. Started with the database URL; says what happens over IPC. */
import pg from 'pg';
import { pino } from 'pino';
import { z } from 'zod';
import { startWorkers } from '../../src/work/runner.ts';
import { defineTask } from '../../src/work/task.ts';

const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
const hold = defineTask({
  name: 'hold',
  payload: z.object({ label: z.string() }),
  async run({ label }, { signal, attempt }) {
    process.send?.({ started: label, attempt });
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
});
const workers = await startWorkers({
  pool,
  log: pino({ level: 'silent' }),
  tasks: [hold],
  sweepIntervalMs: 200,
});
process.send?.({ workerId: workers.workerId });
