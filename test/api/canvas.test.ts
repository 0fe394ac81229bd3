import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createCanvasService } from '../../src/canvas/service.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { exchange } from '../contract/raw-http.ts';
import { type ApiAnswer, type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_RUNTIME: 'fake', REPLICA_WARM_POOL_SIZE: '0' } });
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world?.close());

const canvas = createCanvasService({ now: () => new Date() });
const refusal = ({ status, headers }: ApiAnswer) => [status, headers.get('x-service-error-code')];

/** A replica with these items, as its engine has sent them. */
async function replica(items: Record<string, Buffer | number | string> = {}, state: ReplicaState = 'active') {
  const replicaId = await insertReplica(world.db, { organizationId: org.id, state });
  for (const [filename, item] of Object.entries(items)) {
    const content = typeof item === 'number' ? null : Buffer.from(item);
    const sizeBytes = content?.length ?? Number(item);
    expect(await canvas.keep(world.db, { replicaId, filename, sizeBytes, content })).toBe(true);
  }
  return `/v1/replica/${replicaId}/canvas`;
}

describe('the canvas of a replica', () => {
  test('lists what its agent shows, by name', async () => {
    const path = await replica({ 'plan.md': '# Plan', 'a.png': Buffer.from([1, 2]), 'film.mp4': 9_000_000 });
    const { status, body } = await org.call('GET', path);
    expect(status).toBe(200);
    expect(body).toEqual({
      items: [
        { filename: 'a.png', kind: 'image', sizeBytes: 2 },
        { filename: 'film.mp4', kind: 'video', sizeBytes: 9_000_000 },
        { filename: 'plan.md', kind: 'markdown', sizeBytes: 6 },
      ],
    });
    expect((await org.call('GET', await replica())).body).toEqual({ items: [] });
  });

  test('gives text as text, bytes as base64, and neither of what is too large', async () => {
    const largest = Buffer.alloc(5_000_000, 7);
    const path = await replica({ 'plan.md': '# Größe', 'a.bin': largest, 'film.mp4': 5_000_001 });
    expect((await org.call('GET', `${path}/plan.md`)).body).toEqual({
      filename: 'plan.md',
      kind: 'markdown',
      sizeBytes: 9,
      mimeType: 'text/markdown',
      content: '# Größe',
    });
    const binary = await org.call('GET', `${path}/a.bin`);
    expect(Buffer.from(binary.body.base64, 'base64').equals(largest)).toBe(true);
    expect((await org.call('GET', `${path}/film.mp4`)).body).toEqual({
      filename: 'film.mp4',
      kind: 'video',
      sizeBytes: 5_000_001,
      mimeType: 'video/mp4',
      tooLarge: true,
    });
  });

  test('keeps 100 MB of a replica; of what comes on top only the size is known', async () => {
    const path = await replica({ '0.bin': '' });
    const replicaId = path.split('/')[3] ?? '';
    await sql`update canvas_item set content = decode(repeat('00', 100000000), 'hex')
      where replica_id = ${replicaId}`.execute(world.db);
    const keep = (filename: string, content: Buffer) =>
      canvas.keep(world.db, { replicaId, filename, sizeBytes: content.length, content });
    expect(await keep('more.md', Buffer.from('m'))).toBe(true);
    expect((await org.call('GET', `${path}/more.md`)).body).toMatchObject({ sizeBytes: 1, tooLarge: true });
    // One that is there already is measured by what it becomes.
    expect(await keep('0.bin', Buffer.from('n'))).toBe(true);
    expect((await org.call('GET', `${path}/0.bin`)).body).toMatchObject({ sizeBytes: 1, base64: 'bg==' });
    expect(await keep('more.md', Buffer.from('m'))).toBe(true);
    expect((await org.call('GET', `${path}/more.md`)).body).toMatchObject({ content: 'm' });
  });

  test.each([
    'a b.md',
    '日本語 🙂.md',
    '100%.md',
    '?#&=+.md',
    '...md',
    '-rf.md',
    'line\nbreak.md',
    `${'ü'.repeat(126)}.md`,
    '__proto__',
  ])('reads an item with the name %j', async (filename) => {
    const path = await replica({ [filename]: 'here' });
    const { status, body } = await org.call('GET', `${path}/${encodeURIComponent(filename)}`);
    expect([status, body.filename]).toEqual([200, filename]);
  });

  test.each([
    'absent.md',
    'PLAN.MD',
    '../plan.md',
    '../../../etc/passwd',
    'folder/plan.md',
    '/etc/passwd',
    '\0',
    'plan.md\0',
    '\\..\\plan.md',
    `${'x'.repeat(600)}.md`,
  ])('has nothing with the name %j', async (filename) => {
    const path = await replica({ 'plan.md': '# Plan' });
    const written = `${path}/${encodeURIComponent(filename)}`;
    expect(refusal(await org.call('GET', written))).toEqual([404, 'not_found']);
  });

  test.each(['..', '%2e%2e', '%2E%2E', '.', '', '%2F', '..%2f..%2f..'])(
    'has nothing at %j, which most clients cannot even send',
    async (written) => {
      const path = await replica({ 'plan.md': '# Plan' });
      const head = `GET ${path}/${written} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`;
      const [answer] = await exchange(world.url, `${head}Authorization: Bearer ${org.key}\r\n\r\n`);
      // Without a name it is the list.
      expect(answer?.status).toBe(written === '' ? 200 : 404);
    },
  );

  test('is there while the replica sleeps, unless the caller wants it strict', async () => {
    const path = await replica({ 'plan.md': '# Plan' }, 'sleeping');
    expect((await org.call('GET', path)).body.items).toHaveLength(1);
    expect((await org.call('GET', `${path}/plan.md`)).body.content).toBe('# Plan');
    for (const each of [path, `${path}/plan.md`]) {
      const strict = await org.call('GET', each, undefined, { prefer: 'handling=strict' });
      expect(refusal(strict)).toEqual([409, 'invalid_state']);
    }
    const row = await world.db
      .selectFrom('replica')
      .select('state')
      .where('id', '=', path.split('/')[3] ?? '')
      .executeTakeFirstOrThrow();
    expect(row.state).toBe('sleeping');
  });

  test('is refused when the replica has failed, is foreign, or never was', async () => {
    const failed = await replica({ 'plan.md': '# Plan' }, 'failed');
    const path = await replica({ 'plan.md': '# Plan' });
    const other = await world.org();
    for (const item of ['', '/plan.md']) {
      expect(refusal(await org.call('GET', `${failed}${item}`))).toEqual([409, 'invalid_state']);
      expect(refusal(await other.call('GET', `${path}${item}`))).toEqual([404, 'not_found']);
      expect(refusal(await org.call('GET', `/v1/replica/${newId()}/canvas${item}`))).toEqual([
        404,
        'not_found',
      ]);
    }
  });
});
