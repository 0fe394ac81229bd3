import { spawn } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { parseKeyRing } from '../../src/secret/key-ring.ts';
import { type RotationProgress, rotateSecrets } from '../../src/secret/rotate.ts';
import { createSealer, type Sealer } from '../../src/secret/seal.ts';
import { SEALED_COLUMNS, sealedColumn } from '../../src/secret/sealed-columns.ts';
import { createDatabase } from '../world/database.ts';

interface Tables {
  rotate_note: { id: string; content: Buffer | null };
  rotate_token: { id: string; secret: Buffer | null };
}

const oldKey = randomBytes(32).toString('hex');
const newKey = randomBytes(32).toString('hex');
const before = createSealer(parseKeyRing(oldKey));
const between = createSealer(parseKeyRing(`${newKey},${oldKey}`));
/** Holds the new key only, so what it opens no longer needs the old one. */
const after = createSealer(parseKeyRing(newKey));
const note = sealedColumn('rotate_note', 'content');
const token = sealedColumn('rotate_token', 'secret');

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Kysely<Tables>;

beforeAll(async () => {
  database = await createDatabase();
  db = new Kysely({
    dialect: new PostgresDialect({
      // A rotation that wrongly waits for a lock fails its test instead of holding up the run.
      pool: new pg.Pool({ connectionString: database.url, max: 8, statement_timeout: 25_000 }),
    }),
  });
  await sql`create table rotate_note (id uuid primary key, content bytea)`.execute(db);
  await sql`create table rotate_token (id text primary key, secret bytea)`.execute(db);
});

beforeEach(async () => {
  await sql`truncate rotate_note, rotate_token`.execute(db);
});

afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

async function addNotes(count: number, sealer: Sealer = before): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const rows = ids.map((id) => ({ id, content: sealer.seal(`note ${id}`, note.context(id)) }));
  if (rows.length > 0) await db.insertInto('rotate_note').values(rows).execute();
  return ids;
}

async function readNotes(sealer: Sealer): Promise<Map<string, string>> {
  const rows = await db.selectFrom('rotate_note').selectAll().where('content', 'is not', null).execute();
  return new Map(
    rows.map((row) => [row.id, sealer.open(row.content ?? Buffer.alloc(0), note.context(row.id))]),
  );
}

async function contentOf(id: string): Promise<Buffer | null> {
  return (await db.selectFrom('rotate_note').select('content').where('id', '=', id).executeTakeFirstOrThrow())
    .content;
}

describe('rotateSecrets', () => {
  test('re-seals every old row of every column, and touches no other', async () => {
    const old = await addNotes(45);
    const [current = ''] = await addNotes(1, between);
    await db.insertInto('rotate_note').values({ id: randomUUID(), content: null }).execute();
    const secret = before.seal(Buffer.of(0xff, 0x00), token.context('t'));
    await db.insertInto('rotate_token').values({ id: 't', secret }).execute();
    const untouched = await contentOf(current);

    const progress: RotationProgress[] = [];
    const result = await rotateSecrets({
      db,
      sealer: between,
      columns: [note, token],
      batchSize: 20,
      onProgress: (step) => progress.push(step),
    });

    expect(result).toEqual({ resealed: 46, failed: 0, busy: 0, failures: [] });
    expect(progress.map((step) => [step.table, step.resealed])).toEqual([
      ['rotate_note', 20],
      ['rotate_note', 40],
      ['rotate_note', 45],
      ['rotate_token', 1],
    ]);
    expect(await readNotes(after)).toEqual(new Map([...old, current].map((id) => [id, `note ${id}`])));
    expect(await contentOf(current)).toEqual(untouched);
    const stored = await db.selectFrom('rotate_token').select('secret').executeTakeFirstOrThrow();
    expect(after.openBytes(stored.secret ?? Buffer.alloc(0), token.context('t'))).toEqual(
      Buffer.of(0xff, 0x00),
    );
    const second = await rotateSecrets({ db, sealer: between, columns: [note, token] });
    expect(second.resealed).toBe(0);
  });

  test('a row that does not open is reported once and keeps nobody from rotating', async () => {
    const ids = await addNotes(10);
    const stranger = createSealer(parseKeyRing(randomBytes(32).toString('hex')));
    const [foreign = ''] = await addNotes(1, stranger);
    const [moved = '', empty = ''] = ids;
    await db
      .updateTable('rotate_note')
      .set({ content: await contentOf(ids[5] ?? '') })
      .where('id', '=', moved)
      .execute();
    await db
      .updateTable('rotate_note')
      .set({ content: Buffer.alloc(0) })
      .where('id', '=', empty)
      .execute();

    const result = await rotateSecrets({ db, sealer: between, columns: [note], batchSize: 3 });

    expect(result).toMatchObject({ resealed: 8, failed: 3, busy: 0 });
    expect(new Map(result.failures.map((failure) => [failure.id, failure.sentence]))).toEqual(
      new Map([
        [
          foreign,
          expect.stringContaining(`sealed with key ${stranger.currentKeyId}, which is not in the ring`),
        ],
        [moved, expect.stringContaining('does not open')],
        [empty, expect.stringContaining('not a sealed secret')],
      ]),
    );
  });

  test('a row that somebody is changing is waited for, and the change is kept', async () => {
    const ids = await addNotes(10);
    const [held = ''] = ids;
    const written = before.seal('changed meanwhile', note.context(held));
    const rotation = await db.transaction().execute(async (tx) => {
      await tx.updateTable('rotate_note').set({ content: written }).where('id', '=', held).execute();
      const running = rotateSecrets({
        db,
        sealer: between,
        columns: [note],
        batchSize: 3,
        lockTimeoutMs: 60_000,
      });
      await vi.waitFor(
        async () => {
          const { rows } = await sql`
            select 1 from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`.execute(db);
          expect(rows).toHaveLength(1);
        },
        { timeout: 20_000, interval: 10 },
      );
      return { running };
    });

    expect(await rotation.running).toMatchObject({ resealed: 10, busy: 0 });
    expect((await readNotes(after)).get(held)).toBe('changed meanwhile');
  });

  test('a row that stays held is counted as busy, and the next run takes it', async () => {
    const ids = await addNotes(5);
    const [held = ''] = ids;
    await db.transaction().execute(async (tx) => {
      await sql`select 1 from rotate_note where id = ${held} for update`.execute(tx);
      const result = await rotateSecrets({ db, sealer: between, columns: [note], lockTimeoutMs: 20 });
      expect(result).toMatchObject({ resealed: 4, failed: 0, busy: 1 });
    });
    expect(await rotateSecrets({ db, sealer: between, columns: [note] })).toMatchObject({
      resealed: 1,
      busy: 0,
    });
    expect((await readNotes(after)).size).toBe(5);
  });

  test('rows written during the rotation keep their last value', async () => {
    const ids = await addNotes(60);
    const latest = new Map(ids.map((id) => [id, `note ${id}`]));
    const rotated = new AbortController();
    const writer = (async () => {
      for (let turn = 0; !rotated.signal.aborted; turn += 1) {
        const id = ids[(turn * 7) % ids.length] ?? '';
        // The service still holds the old ring half of the time.
        const content = (turn % 2 === 0 ? before : between).seal(`turn ${turn}`, note.context(id));
        await db.updateTable('rotate_note').set({ content }).where('id', '=', id).execute();
        latest.set(id, `turn ${turn}`);
      }
    })();
    try {
      for (let round = 0; round < 3; round += 1) {
        await rotateSecrets({ db, sealer: between, columns: [note], batchSize: 7 });
      }
    } finally {
      rotated.abort();
      await writer;
    }
    expect(await readNotes(between)).toEqual(latest);
    await rotateSecrets({ db, sealer: between, columns: [note] });
    expect(await readNotes(after)).toEqual(latest);
  });

  test('two rotations at once share the work', async () => {
    await addNotes(80);
    const run = () => rotateSecrets({ db, sealer: between, columns: [note], batchSize: 5 });
    const results = await Promise.all([run(), run()]);
    expect(results.reduce((sum, result) => sum + result.resealed, 0)).toBe(80);
    expect((await readNotes(after)).size).toBe(80);
  });

  test('stops between batches when asked, and goes on in the next run', async () => {
    await addNotes(30);
    const stop = new AbortController();
    const stopped = rotateSecrets({
      db,
      sealer: between,
      columns: [note],
      batchSize: 10,
      onProgress: () => stop.abort(new Error('stopped by the operator')),
      signal: stop.signal,
    });
    await expect(stopped).rejects.toThrow('stopped by the operator');
    expect((await rotateSecrets({ db, sealer: between, columns: [note] })).resealed).toBe(20);
  });

  test('a rotation killed in the middle of a batch loses nothing and is resumed', async () => {
    await addNotes(100);
    const source = (name: string) =>
      JSON.stringify(pathToFileURL(join(import.meta.dirname, '../../src/secret', name)).href);
    const program = `
      import { Kysely, PostgresDialect } from 'kysely';
      import pg from 'pg';
      import { parseKeyRing } from ${source('key-ring.ts')};
      import { rotateSecrets } from ${source('rotate.ts')};
      import { createSealer } from ${source('seal.ts')};
      import { sealedColumn } from ${source('sealed-columns.ts')};
      const { url, keys } = JSON.parse(process.env.ROTATE_TEST);
      const pool = new pg.Pool({ connectionString: url });
      const sealer = createSealer(parseKeyRing(keys));
      let sealed = 0;
      const seal = (plain, context) => {
        sealed += 1;
        if (sealed === 50) process.kill(process.pid, 'SIGKILL');
        return sealer.seal(plain, context);
      };
      await rotateSecrets({
        db: new Kysely({ dialect: new PostgresDialect({ pool }) }),
        sealer: { ...sealer, seal },
        columns: [sealedColumn('rotate_note', 'content')],
        batchSize: 20,
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      cwd: join(import.meta.dirname, '../..'),
      env: { ROTATE_TEST: JSON.stringify({ url: database.url, keys: `${newKey},${oldKey}` }) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [, killedBy] = await once(child, 'exit');
    expect(killedBy).toBe('SIGKILL');
    expect((await readNotes(between)).size).toBe(100);

    // Two whole batches were committed; the third went back with the killed connection.
    const resumed = await rotateSecrets({ db, sealer: between, columns: [note], lockTimeoutMs: 60_000 });
    expect(resumed).toMatchObject({ resealed: 60, failed: 0, busy: 0 });
    expect((await readNotes(after)).size).toBe(100);
  });
});

test('the list of sealed columns is exactly the byte columns of the schema that are no hashes and no content of workspaces', async () => {
  const { rows } = await sql<{ table_name: string; column_name: string }>`
    select table_name, column_name from information_schema.columns
    where table_schema = 'public' and data_type = 'bytea'
      and table_name not like 'rotate_%' and column_name !~ '(^|_)hash$'`.execute(db);
  // What a sandbox shows or has changed is content, not a secret.
  const content = ['canvas_item.content', 'replica_shadow.bundle'];
  const bytes = rows.map((row) => `${row.table_name}.${row.column_name}`).sort();
  const inSchema = bytes.filter((name) => !content.includes(name));
  expect(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).sort()).toEqual(inSchema);
  // The walk reads each listed column by its id, so a wrong name would fail here.
  expect(await rotateSecrets({ db, sealer: between, columns: SEALED_COLUMNS })).toMatchObject({ failed: 0 });
});
