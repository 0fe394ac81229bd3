import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/db/database.ts';
import type { DB } from '../../src/db/schema.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { PURGE_TASK, purge, purgeTasks, requestPurge } from '../../src/replica/purge.ts';
import { migrateWork } from '../../src/work/migrate.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { createDatabase } from '../world/database.ts';

const everything = new AsyncDisposableStack();
const log = pino({ level: 'silent' });
const never = new AbortController().signal;
const at = new Date('2026-01-02T03:04:05Z');
let database: Database;
let organizationId: string;

beforeAll(async () => {
  const { url, drop } = await createDatabase();
  everything.defer(drop);
  database = openDatabase({ url, poolSize: 2, log });
  everything.defer(database.close);
  await migrateWork(database.pool, log);
});
beforeEach(async () => {
  organizationId = newId();
  const organization = { id: organizationId, name: 'Test', slug: organizationId };
  await database.db.insertInto('organization').values(organization).execute();
});
afterAll(() => everything.disposeAsync());

/** What goes with a replica, and how much of it each of the replicas here has. */
const gone = {
  chat: 2,
  message: 250,
  history_entry: 250,
  canvas_item: 1,
  replica_shadow: 1,
  hook_run: 1,
  replica_step: 1,
  egress_contact: 1,
  preview: 1,
  agent_command: 1,
  replica_branch: 1,
  own_comment: 1,
  replica_event: 250,
} satisfies Partial<Record<keyof DB, number>>;

/** What stays of a replica: its bills, what it had checked out and what came of it, and rows that others remove. */
const kept = [
  'automation_execution',
  'awake_stretch',
  'model_usage',
  'replica_pull_request',
  'replica_repository',
  'sandbox',
  'warm_pool_workspace',
  'webhook_delivery',
  'webhook_event',
];

async function insertFull(state: ReplicaState): Promise<string> {
  const { db } = database;
  const replica_id = await insertReplica(db, { organizationId, state });
  const owned = { organization_id: organizationId, replica_id };
  const many = Array.from({ length: 250 }, (_, n) => n + 1);
  await db
    .updateTable('replica')
    .set({
      config: JSON.stringify({ secret: 1 }),
      webhook_secret: Buffer.from('sealed'),
      environment_report: JSON.stringify({ variablesSet: ['TOKEN'] }),
      engine: JSON.stringify({ version: '1' }),
      event_seq: '250',
      history_bytes: '4000',
    })
    .where('id', '=', replica_id)
    .execute();
  const chats = [newId(), newId()];
  const [chat_id = ''] = chats;
  const times = { created_at: at, updated_at: at };
  await db
    .insertInto('chat')
    .values(chats.map((id) => ({ ...owned, ...times, id, provider: 'claude', title: 'secret' })))
    .execute();
  await db
    .insertInto('message')
    .values(
      many.map((position) => ({
        ...owned,
        id: newId(),
        chat_id,
        position,
        state: 'completed',
        text: 'secret',
        created_at: at,
      })),
    )
    .execute();
  await db
    .insertInto('history_entry')
    .values(many.map(() => ({ replica_id, chat_id, at, type: 'claude-user', payload: '{}' })))
    .execute();
  await db
    .insertInto('canvas_item')
    .values({ replica_id, filename: 'a.md', size_bytes: '1', content: Buffer.from('x'), updated_at: at })
    .execute();
  await db
    .insertInto('replica_repository')
    .values({
      replica_id,
      repository_id: newId(),
      position: 0,
      name: 'app',
      url: 'https://git.example/app',
      diff: 'secret',
      added: 1,
      removed: 0,
      updated_at: at,
    })
    .execute();
  await db
    .insertInto('replica_shadow')
    .values({
      replica_id,
      repository_id: newId(),
      base_commit: 'a',
      head_commit: 'b',
      shadow_commit: 'c',
      bundle: Buffer.from('secret'),
      updated_at: at,
    })
    .execute();
  const hook_run_id = newId();
  await db
    .insertInto('hook_run')
    .values({
      ...owned,
      id: hook_run_id,
      sandbox_id: newId(),
      phase: 'start',
      type: 'environment',
      name: 'start',
      commands: ['true'],
      position: 0,
      status: 'finished',
      created_at: at,
    })
    .execute();
  await db
    .insertInto('hook_output')
    .values(many.map((seq) => ({ hook_run_id, seq, text: 'secret' })))
    .execute();
  await db
    .insertInto('replica_step')
    .values({
      id: newId(),
      replica_id,
      incarnation: 1,
      step: 'files',
      started_at: at,
      duration_ms: 1,
      outcome: 'done',
    })
    .execute();
  await db
    .insertInto('egress_contact')
    .values({
      replica_id,
      host: 'a.example',
      port: 443,
      is_allowed: true,
      times: '1',
      first_at: at,
      last_at: at,
    })
    .execute();
  await db.insertInto('preview').values({ replica_id, port: 3000, created_at: at }).execute();
  await db
    .insertInto('agent_command')
    .values({ replica_id, agent: 'claude', commands: '[{"command":"secret"}]', updated_at: at })
    .execute();
  const { id: message_id } = await db
    .selectFrom('message')
    .select('id')
    .where('replica_id', '=', replica_id)
    .executeTakeFirstOrThrow();
  await db
    .insertInto('model_usage')
    .values({
      ...owned,
      id: newId(),
      chat_id,
      message_id,
      agent: 'claude',
      model: 'm',
      input_tokens: '1',
      output_tokens: '1',
      cache_read_tokens: '1',
      cache_write_tokens: '1',
      cost_micros: '7',
      at,
    })
    .execute();
  const pullRequestId = newId();
  await db
    .insertInto('replica_pull_request')
    .values({
      ...owned,
      id: pullRequestId,
      repository_id: newId(),
      number: 1,
      url: 'https://git.example/app/pull/1',
      message_id,
      created_at: at,
    })
    .execute();
  await db
    .insertInto('pull_request_remark')
    .values({
      id: newId(),
      replica_pull_request_id: pullRequestId,
      kind: 'comment',
      key: '1',
      text: 'secret',
      at,
    })
    .execute();
  await db
    .insertInto('replica_branch')
    .values({ replica_id, repository_id: newId(), branch: 'work', head_commit: 'a', pushed_at: at })
    .execute();
  await db
    .insertInto('own_comment')
    .values({ replica_id, url: 'https://git.example/app/pull/1#1', at })
    .execute();
  await db
    .insertInto('replica_event')
    .values(many.map((seq) => ({ replica_id, seq: String(seq), at, type: 'chat.updated', payload: '{}' })))
    .execute();
  await db
    .insertInto('awake_stretch')
    .values({ ...owned, id: newId(), source: 'api', rate_micros: 1, started_at: at, ended_at: at })
    .execute();
  return replica_id;
}

async function countOf(replicaId: string): Promise<Record<string, number>> {
  const counted = await Promise.all(
    Object.keys(gone).map(async (table) => {
      const { rows } = await sql<{ count: number }>`
        select count(*)::int as count from ${sql.table(table)} where replica_id = ${replicaId}`.execute(
        database.db,
      );
      return [table, rows[0]?.count ?? 0];
    }),
  );
  return Object.fromEntries(counted);
}

const noneOf = Object.fromEntries(Object.keys(gone).map((table) => [table, 0]));

test('everything that was said, made and noted in a deleted replica goes, and nothing of another one', async () => {
  const { db } = database;
  const [deleted, other] = [await insertFull('deleted'), await insertFull('deleted')];
  await purge(db, deleted, never);
  expect(await countOf(deleted)).toEqual(noneOf);
  expect(await countOf(other)).toEqual(gone);
  const outputs = await db
    .selectFrom('hook_output')
    .innerJoin('hook_run', 'hook_run.id', 'hook_output.hook_run_id')
    .select('hook_run.replica_id')
    .distinct()
    .execute();
  expect(outputs).toEqual([{ replica_id: other }]);
});

test('the row, its receiver, the names of its repositories, its pull requests and its bills stay', async () => {
  const { db } = database;
  const id = await insertFull('deleted');
  await purge(db, id, never);
  const row = await db.selectFrom('replica').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  expect(row).toMatchObject({
    state: 'deleted',
    name: 'test',
    config: {},
    webhook_secret: Buffer.from('sealed'),
    environment_report: null,
    engine: null,
    event_seq: '250',
    history_bytes: '0',
  });
  const repositories = await db
    .selectFrom('replica_repository')
    .selectAll()
    .where('replica_id', '=', id)
    .execute();
  expect(repositories).toMatchObject([{ name: 'app', url: 'https://git.example/app', diff: null }]);
  const stretches = db.selectFrom('awake_stretch').select('id').where('replica_id', '=', id);
  expect(await stretches.execute()).toHaveLength(1);
  const spent = db.selectFrom('model_usage').select('cost_micros').where('replica_id', '=', id);
  expect(await spent.execute()).toEqual([{ cost_micros: '7' }]);
  const pulls = db.selectFrom('replica_pull_request').select('number').where('replica_id', '=', id);
  expect(await pulls.execute()).toEqual([{ number: 1 }]);
  const said = db
    .selectFrom('pull_request_remark')
    .innerJoin('replica_pull_request', 'replica_pull_request.id', 'replica_pull_request_id')
    .select('text')
    .where('replica_id', '=', id);
  expect(await said.execute()).toEqual([]);
});

test('a replica that is not deleted keeps everything', async () => {
  for (const state of ['active', 'deleting'] as const) {
    const id = await insertFull(state);
    await purge(database.db, id, never);
    expect(await countOf(id), state).toEqual(gone);
  }
});

test('every table that knows of replicas is purged or kept on purpose', async () => {
  const { rows } = await sql<{ table_name: string }>`
    select table_name from information_schema.columns
     where table_schema = 'public' and column_name = 'replica_id'`.execute(database.db);
  expect(rows.map(({ table_name }) => table_name).toSorted()).toEqual(
    [...Object.keys(gone), ...kept].toSorted(),
  );
});

test('the purge that is asked for comes a minute later, once', async () => {
  const { db } = database;
  const id = await insertFull('deleted');
  await requestPurge(db, { replicaId: id, at });
  await requestPurge(db, { replicaId: id, at });
  const { rows } = await sql<{ run_at: Date; payload: unknown }>`
    select jobs.run_at, private.payload
      from graphile_worker.jobs as jobs
      join graphile_worker._private_jobs as private using (id)
     where jobs.key = ${`${PURGE_TASK}:${id}`}`.execute(db);
  expect(rows).toEqual([{ run_at: new Date('2026-01-02T03:05:05Z'), payload: { replica_id: id } }]);
  const [task] = purgeTasks({ db });
  await task?.run(rows[0]?.payload, { signal: never, attempt: 1, maxAttempts: 1, log });
  expect(await countOf(id)).toEqual(noneOf);
});
