import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { startInboundService } from './inbound-service.ts';
import { readProcessFile } from './process-file.ts';
import type { TableRow } from './table.ts';

const AUTOMATIONS = 10_000;
const SECONDS = 20;
const TICKS_PER_SECOND = 100;

const note = `One process with nothing to do, over ${SECONDS} seconds without automations and then with ${AUTOMATIONS.toLocaleString('en')} of them, each with a schedule that is not due and an address for events. The database is all its processes together; transactions are those of all of the service.`;

/** What automations cost while nothing happens: the time of the service and of its database, and what it asks for. */
export async function measureIdleAutomations(): Promise<TableRow[]> {
  const service = await startInboundService();
  try {
    // Starting up goes on for a while after the service is ready.
    await delay(5_000);
    const without = await measureRest(service);
    await insertAutomations(service);
    const idle = await measureRest(service);
    const perAutomationMs = Math.max(
      0,
      idle.serviceMs + idle.databaseMs - without.serviceMs - without.databaseMs,
    );
    const show = ({ serviceMs, databaseMs, transactions }: Rest) =>
      `${serviceMs.toFixed(1)} ms + ${databaseMs.toFixed(1)} ms, ${transactions.toFixed(1)} transactions`;
    return [
      { what: 'a second at rest, service + database', measured: show(without), note },
      { what: `the same with ${AUTOMATIONS.toLocaleString('en')} automations`, measured: show(idle) },
      {
        what: 'cost of an idle automation in a second',
        measured: `${((perAutomationMs * 1_000) / AUTOMATIONS).toFixed(2)} µs`,
      },
    ];
  } finally {
    await service.close();
  }
}

/** Each in a second. */
type Rest = { serviceMs: number; databaseMs: number; transactions: number };
type Service = Awaited<ReturnType<typeof startInboundService>>;

async function measureRest({ pid, databasePid, pool }: Service): Promise<Rest> {
  const look = async () => ({
    serviceMs: cpuMs(pid),
    // The time of processes that have ended is that of their parent.
    databaseMs: [databasePid, ...childrenOf(databasePid)].reduce((sum, each) => sum + cpuMs(each), 0),
    transactions: await countTransactions(pool),
    atMs: performance.now(),
  });
  const before = await look();
  await delay(SECONDS * 1_000);
  const after = await look();
  const seconds = (after.atMs - before.atMs) / 1_000;
  return {
    serviceMs: (after.serviceMs - before.serviceMs) / seconds,
    databaseMs: (after.databaseMs - before.databaseMs) / seconds,
    transactions: (after.transactions - before.transactions) / seconds,
  };
}

async function insertAutomations({ pool, organizationId, environmentId }: Service): Promise<void> {
  const triggers = [
    { type: 'cron', config: { schedule: '0 6 1 1 *', timezone: 'Europe/Berlin' } },
    { type: 'custom', config: {} },
  ];
  await pool.query(
    `insert into automation (id, organization_id, environment_id, name, prompt, triggers, webhook_token_hash,
                             cron_expression, cron_timezone, cron_next_fire_at, cron_due_at, created_at, updated_at)
     select gen_random_uuid(), $1, $2, 'bench ' || n, 'Look around.', $3, sha256(n::text::bytea),
            '0 6 1 1 *', 'Europe/Berlin', now() + interval '1 day', now() + interval '1 day', now(), now()
       from generate_series(1, $4::int) as n`,
    [organizationId, environmentId, JSON.stringify(triggers), AUTOMATIONS],
  );
  await pool.query('analyze automation');
}

async function countTransactions(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0]?.count);
}

function cpuMs(pid: number): number {
  // The name of the program stands in brackets and may have blanks.
  const fields = readProcessFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  // The third field is the first one here; 14 to 17 are the times of the process and of its children that ended.
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return (ticks / TICKS_PER_SECOND) * 1_000;
}

function childrenOf(pid: number): number[] {
  return readProcessFile(pid, `task/${pid}/children`).split(' ').filter(Boolean).map(Number);
}
