import type pg from 'pg';

/** When a key was last used, and a host last seen, is written now and then by the service itself, not by a request. */
const writtenInBackground = "array['last_used_at', 'seen_at']";

/** What is refused after the commit keeps its refusal under the caller's key, so that a repeat gets the same. */
const keyed = 'idempotency_record';

/**
 * A hash over every row of every table of ours but the one of keys. Two equal hashes mean that nothing was stored, changed or removed in
 * between. The stage is to settle first, since what work in the background finds out is stored as well.
 */
export async function hashContent(pool: pg.Pool): Promise<string> {
  const { rows } = await pool.query(await overTables(pool, 'content'));
  return JSON.stringify(rows);
}

/** How many rows each table has. */
export async function countRows(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ name: string; value: string }>(await overTables(pool, 'count'));
  return Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)]));
}

/** Whether anything is on its way that will be stored: a job, a replica between two states, a turn, a test, a delivery, an end. */
export async function isBusy(pool: pg.Pool, hostId: string): Promise<boolean> {
  const { rows } = await pool.query<{ busy: boolean }>(BUSY, [hostId]);
  return rows[0]?.busy ?? true;
}

const BUSY = `
  select exists (select from graphile_worker._private_jobs where run_at <= now() and attempts < max_attempts)
      or exists (select from replica where host_id = $1
           and state in ('preparing', 'falling_asleep', 'waking', 'archiving', 'deleting'))
      or exists (select from message join replica on replica.id = message.replica_id
          where host_id = $1 and sandbox_id is not null
            and (message.state = 'running' or message.state = 'queued'
              -- What a budget holds up waits without end.
              and replica.model_budget_micros is null
              and not exists (select from model_budget where organization_id = replica.organization_id)))
      or exists (select from hook_test where status in ('waiting', 'preparing', 'running'))
      or exists (select from webhook_delivery where state = 'pending' and due_at < now() + interval '1 minute')
      or exists (select from sandbox where host_id = $1 and removing_at is not null) as busy`;

type Table = { name: string; isWrittenInBackground: boolean };
type Statement = { name: string; text: string };

const statements = new WeakMap<pg.Pool, Promise<Record<'content' | 'count', Statement>>>();

/** A named statement, which PostgreSQL plans once: there are many tables, and it is asked often. */
async function overTables(pool: pg.Pool, what: 'content' | 'count'): Promise<Statement> {
  const made = statements.get(pool) ?? makeStatements(pool);
  statements.set(pool, made);
  return (await made)[what];
}

async function makeStatements(pool: pg.Pool): Promise<Record<'content' | 'count', Statement>> {
  const { rows: tables } = await pool.query<Table>(TABLES);
  const over = (value: (table: Table) => string, of = tables) =>
    of
      .map((table) => `select '${table.name}' as name, ${value(table)} as value from ${table.name} t`)
      .join(' union all ');
  const stored = tables.filter(({ name }) => name !== keyed);
  return {
    content: { name: 'content', text: `${over(contentOf, stored)} order by name` },
    count: { name: 'count', text: `${over(() => 'count(*)::text')} order by name` },
  };
}

/** The sum does not depend on the order of the rows. */
function contentOf({ isWrittenInBackground }: Table): string {
  const row = isWrittenInBackground ? `(to_jsonb(t) - ${writtenInBackground})::text` : 't::text';
  return `coalesce(sum(hashtextextended(${row}, 0)), 0)::text || ' ' || count(*)`;
}

const TABLES = `
  select quote_ident(table_name) as name, bool_or(column_name = any (${writtenInBackground})) as "isWrittenInBackground"
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
   where table_schema = 'public' and table_type = 'BASE TABLE' group by table_name`;
