import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { insertReplica } from '../chat/replica-row.ts';
import type { EventStream } from '../world/event-stream.ts';
import { type ApiAnswer, type Organization, startWorld, until, type World } from '../world/world.ts';
import { type EventWriter, numbered, openEventWriter } from './event-writer.ts';

let world: World;
let writer: EventWriter;
let org: Organization;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_RUNTIME: 'fake', REPLICA_WARM_POOL_SIZE: '0' } });
  writer = await openEventWriter(world);
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(async () => {
  await writer?.close();
  await world?.close();
});

const replica = (state: ReplicaState = 'active') =>
  insertReplica(world.db, { organizationId: org.id, state });
const path = (id: string, query = '') => `/v1/replica/${id}/events${query}`;
const open = (id: string, query = '', headers: Record<string, string> = {}) =>
  org.stream('GET', path(id, query), { headers });
const refusal = ({ status, headers }: ApiAnswer) => [status, headers.get('x-service-error-code')];
const counts = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => numbered(from + n));
const stateOf = async (id: string) =>
  (await world.db.selectFrom('replica').select('state').where('id', '=', id).executeTakeFirstOrThrow()).state;
const forget = (id: string, upTo: number) =>
  world.db
    .deleteFrom('replica_event')
    .where('replica_id', '=', id)
    .where('seq', '<=', String(upTo))
    .execute();

/** The next events, each as its id, its type and its number. */
async function take(stream: EventStream, count: number) {
  const taken = [];
  for (let n = 0; n < count; n += 1) {
    const { id, event, data } = await stream.event();
    if (data.id !== id || data.type !== event) throw new Error(`the envelope of ${id} ${event} differs`);
    taken.push(event === 'test.counted' ? `${id} ${data.payload.n}` : `${id} ${event}`);
  }
  return taken;
}

/** The events of a snapshot, up to the one from which a stream can go on. */
async function takeSnapshot(stream: EventStream) {
  const events: { id: string; type: string; payload: object }[] = [];
  do events.push((await stream.event()).data);
  while (events.at(-1)?.id.includes('.'));
  return events;
}

describe('the stream of a replica', () => {
  test('begins with what happens next', async () => {
    const id = await replica();
    await writer.write(id, ...counts(1, 3));
    await using stream = await open(id);
    await writer.write(id, ...counts(4, 5));
    await writer.write(id, numbered(6, { text: 'Zeile\nZeile', nothing: null }));
    expect(await take(stream, 2)).toEqual(['4 4', '5 5']);
    expect((await stream.event()).data).toEqual({
      id: '6',
      ts: expect.any(String),
      type: 'test.counted',
      payload: { n: 6, text: 'Zeile\nZeile', nothing: null },
    });
  });

  test('goes on after the event that the header or the query names, and the header counts', async () => {
    const id = await replica();
    await writer.write(id, ...counts(1, 5));
    await using byHeader = await open(id, '', { 'last-event-id': '3' });
    expect(await take(byHeader, 2)).toEqual(['4 4', '5 5']);
    await using byQuery = await open(id, '?last_event_id=2');
    expect(await take(byQuery, 3)).toEqual(['3 3', '4 4', '5 5']);
    await using byBoth = await open(id, '?last_event_id=1', { 'last-event-id': '4' });
    expect(await take(byBoth, 1)).toEqual(['5 5']);
    await using fromFirst = await open(id, '?last_event_id=0');
    expect(await take(fromFirst, 5)).toEqual(['1 1', '2 2', '3 3', '4 4', '5 5']);
    await writer.write(id, numbered(6));
    for (const stream of [byHeader, byQuery, byBoth, fromFirst]) {
      expect(await take(stream, 1)).toEqual(['6 6']);
    }
  });

  test('begins with a gap when what is asked for is no longer kept', async () => {
    const id = await replica();
    await writer.write(id, ...counts(1, 6));
    await forget(id, 4);
    await using stream = await open(id, '', { 'last-event-id': '2' });
    expect((await stream.event()).data).toMatchObject({
      id: '4',
      type: 'stream.gap',
      payload: { lastEventId: '2', resumesAfter: '4' },
    });
    expect(await take(stream, 2)).toEqual(['5 5', '6 6']);
    await using lucky = await open(id, '', { 'last-event-id': '4' });
    expect(await take(lucky, 1)).toEqual(['5 5']);
    await forget(id, 6);
    await using late = await open(id, '', { 'last-event-id': '5' });
    expect(await take(late, 1)).toEqual(['6 stream.gap']);
    await writer.write(id, numbered(7));
    expect(await take(late, 1)).toEqual(['7 7']);
  });

  test.each(['99', 'nothing', '-1', newId(), 'x'.repeat(900)])(
    'begins with a gap after the unknown id %s',
    async (lastEventId) => {
      const id = await replica();
      await writer.write(id, ...counts(1, 3));
      await using stream = await open(id, '', { 'last-event-id': lastEventId });
      const { data } = await stream.event();
      expect(data.payload).toEqual({ lastEventId: lastEventId.slice(0, 100), resumesAfter: '3' });
      await writer.write(id, numbered(4));
      expect(await take(stream, 1)).toEqual(['4 4']);
    },
  );

  test('ends when the replica is deleted, after it has said so', async () => {
    const id = await replica();
    await using stream = await open(id);
    expect((await org.call('DELETE', `/v1/replica/${id}`)).status).toBe(200);
    expect((await stream.event()).data).toMatchObject({
      type: 'replica.status.changed',
      payload: { status: 'deleted' },
    });
    for await (const frame of stream) expect(frame).toHaveProperty('comment');
    expect((await org.call('GET', path(id))).status).toBe(404);
  });

  test('ends when everything of the replica is gone', async () => {
    const id = await replica();
    await using stream = await open(id);
    await world.db.deleteFrom('replica').where('id', '=', id).execute();
    writer.touch(`replica:${id}`);
    for await (const frame of stream) expect(frame).toHaveProperty('comment');
  });

  test.each(['sleeping', 'falling_asleep', 'archived'] as const)(
    'opens while the replica is %s without waking it, unless the caller wants it strict',
    async (state) => {
      const id = await replica(state);
      await using stream = await open(id);
      await writer.write(id, numbered(1));
      expect(await take(stream, 1)).toEqual(['1 1']);
      expect(await stateOf(id)).toBe(state);
      const strict = await org.call('GET', path(id), undefined, { prefer: 'handling=strict' });
      expect(refusal(strict)).toEqual([409, 'invalid_state']);
    },
  );

  test('is refused when the replica has failed, is foreign, or never was', async () => {
    expect(refusal(await org.call('GET', path(await replica('failed'))))).toEqual([409, 'invalid_state']);
    const other = await world.org();
    expect(refusal(await other.call('GET', path(await replica())))).toEqual([404, 'not_found']);
    expect(refusal(await org.call('GET', path(newId())))).toEqual([404, 'not_found']);
    expect(refusal(await org.call('GET', path(await replica(), '?snapshot=maybe')))).toEqual([
      400,
      'invalid_request',
    ]);
  });
});

describe('a snapshot', () => {
  /** A replica with a repository, a chat in which a turn runs, a chat that was deleted, and hooks. */
  async function furnished() {
    const id = await replica();
    const at = new Date();
    await world.db
      .insertInto('replica_repository')
      .values({
        replica_id: id,
        repository_id: newId(),
        position: 0,
        name: 'app',
        url: 'u',
        updated_at: at,
        diff: 'x',
        added: 1,
        removed: 0,
      })
      .execute();
    const { body } = await org.call('POST', `/v1/replica/${id}/messages`, { message: 'Hello' });
    const gone = await org.call('POST', `/v1/replica/${id}/chats`, { provider: 'codex' });
    await org.call('DELETE', `/v1/replica/${id}/chats/${gone.body.id}`);
    return { id, chatId: body.chat_id as string };
  }

  test('shows the present state, then what follows', async () => {
    const { id, chatId } = await furnished();
    const { event_seq } = await world.db
      .selectFrom('replica')
      .select('event_seq')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    await using stream = await open(id, '?snapshot=true');
    const events = await takeSnapshot(stream);
    expect(events.map((event) => event.id)).toEqual(
      events.map((_event, index) => (index === events.length - 1 ? event_seq : `${event_seq}.${index + 1}`)),
    );
    const diff = { added: 1, removed: 0, full_diff: '' };
    expect(events.filter(({ type }) => type !== 'preview.changed')).toMatchObject([
      { type: 'replica.status.changed', payload: { status: 'active' } },
      { type: 'repo.status.changed', payload: { repos: [{ repository: 'app', git_diff: diff }] } },
      { type: 'chat.updated', payload: { chat: { id: chatId, processing: true, lastMessageText: 'Hello' } } },
      { type: 'hooks.status', payload: { running: false, completed: true } },
    ]);
    await writer.write(id, numbered(1));
    expect(await take(stream, 1)).toEqual([`${Number(event_seq) + 1} 1`]);
  });

  test('can be gone on from at its end, and is sent again from its middle', async () => {
    const { id } = await furnished();
    await using stream = await open(id, '?snapshot=true');
    const shown = await takeSnapshot(stream);
    const [middle = '', end = ''] = [shown[1]?.id, shown.at(-1)?.id];
    await writer.write(id, numbered(1));
    await using afterEnd = await open(id, '?snapshot=true', { 'last-event-id': end });
    expect(await take(afterEnd, 1)).toEqual([`${Number(end) + 1} 1`]);
    await using afterMiddle = await open(id, '', { 'last-event-id': middle });
    const again = await takeSnapshot(afterMiddle);
    expect(again.map(({ type }) => type)).toEqual(shown.map(({ type }) => type));
    expect(again.at(-1)?.id).toBe(String(Number(end) + 1));
  });

  test('follows a gap, with nothing of the past between', async () => {
    const { id } = await furnished();
    await writer.write(id, ...counts(1, 3));
    await forget(id, 2);
    await using stream = await open(id, '?snapshot=true', { 'last-event-id': '1' });
    expect((await stream.event()).data).toMatchObject({
      id: expect.stringMatching(/\.0$/),
      type: 'stream.gap',
    });
    expect((await takeSnapshot(stream))[0]?.type).toBe('replica.status.changed');
    await writer.write(id, numbered(4));
    expect(await take(stream, 1)).toEqual([expect.stringMatching(/ 4$/)]);
  });

  test.each([
    ['preparing', 'waiting', { running: true, completed: false }],
    ['waking', 'running', { running: true, completed: false }],
    ['waking', 'finished', { running: false, completed: false }],
    ['active', 'finished', { running: false, completed: true }],
    ['sleeping', 'running', { running: false, completed: false }],
  ] as const)('of a replica that is %s with a hook that is %s', async (state, status, expected) => {
    const id = await replica(state);
    const hook = {
      id: newId(),
      organization_id: org.id,
      sandbox_id: newId(),
      replica_id: id,
      phase: 'start',
    };
    await world.db
      .insertInto('hook_run')
      .values({
        ...hook,
        type: 'environment',
        name: 'environment',
        commands: [],
        position: 0,
        status,
        created_at: new Date(),
      })
      .execute();
    await using stream = await open(id, '?snapshot=true');
    expect((await stream.event('hooks.status')).data.payload).toEqual(expected);
  });
});

describe('many readers', () => {
  test('each get everything once and in order, from wherever they begin', async () => {
    const id = await replica();
    await writer.write(id, ...counts(1, 700));
    await using streams = new AsyncDisposableStack();
    const begins = [0, 0, 1, 350, 650, 699, ...Array.from({ length: 12 }, () => 700)];
    const readers = await Promise.all(
      begins.map(async (after) => streams.use(await open(id, `?last_event_id=${after}`))),
    );
    const all = Promise.all(
      readers.map(async (stream, index) => {
        const after = begins[index] ?? 0;
        expect(await take(stream, 900 - after)).toEqual(
          Array.from({ length: 900 - after }, (_, n) => `${after + n + 1} ${after + n + 1}`),
        );
      }),
    );
    for (let n = 701; n <= 900; n += 20) await writer.write(id, ...counts(n, n + 19));
    await all;
  });

  test('one who reads nothing is told of everything when it reads on', async () => {
    const id = await replica();
    await using stream = await open(id);
    // More than the buffers of the connection and the ring of this process hold.
    const text = 'x'.repeat(60_000);
    for (let n = 1; n <= 200; n += 20) {
      await writer.write(id, ...Array.from({ length: 20 }, (_, index) => numbered(n + index, { text })));
    }
    expect(await take(stream, 200)).toEqual(Array.from({ length: 200 }, (_, n) => `${n + 1} ${n + 1}`));
  });
});

test('a replica that is created is followed from preparing to active', async () => {
  const environment = await org.call('POST', '/v1/environments', { name: 'web' });
  const created = await org.call(
    'POST',
    '/v1/replica',
    { name: 'followed', message: 'Hello', environment_id: environment.body.environment.id },
    { 'x-service-api-version': '2026-05-17' },
  );
  const { id } = created.body.replica;
  await using stream = await open(id, '?last_event_id=0');
  const statuses: string[] = [];
  while (!statuses.includes('active')) {
    statuses.push((await stream.event('replica.status.changed')).data.payload.status);
  }
  expect(statuses).toEqual(['preparing', 'active']);
  await org.call('DELETE', `/v1/replica/${id}`);
  await until(async () => (await stateOf(id)) === 'deleted');
});
