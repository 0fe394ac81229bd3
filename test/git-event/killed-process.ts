/* Hands on events in a process of its own, which kills itself at a moment. Started with the database URL and the moment. */
import pg from 'pg';
import { pino } from 'pino';
import { openDatabase } from '../../src/db/database.ts';
import { startWorkers } from '../../src/work/runner.ts';
import type { Tasks } from '../../src/work/task.ts';
import { createEventParts, type Taker } from './event-parts.ts';

const [url = '', moment = ''] = process.argv.slice(2);
const log = pino({ level: 'silent' });

const { db } = openDatabase({ url, poolSize: 4, log });
const { listen, tasksFor } = createEventParts(db, () => new Date());
const die: Taker = () => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
const takers = { 'before it is handed on': [die, listen], 'before the commit': [listen, die] }[moment];
const tasks: Tasks = tasksFor(takers ?? [listen]).map((task) => ({
  ...task,
  async run(payload, context) {
    await task.run(payload, context);
    process.kill(process.pid, 'SIGKILL');
  },
}));
await startWorkers({ pool: new pg.Pool({ connectionString: url, max: 7 }), log, tasks });
