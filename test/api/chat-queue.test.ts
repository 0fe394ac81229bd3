import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let replica: string;
let chat: string;
/** The ids of the messages that wait: two, three and four. */
let waiting: string[];
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  org = await world.org();
  replica = `/v1/replica/${await insertReplica(world.db, { organizationId: org.id, state: 'active' })}`;
  const sent = [];
  for (const message of ['one', 'two', 'three', 'four'])
    sent.push((await org.call('POST', `${replica}/messages`, { message })).body);
  chat = `${replica}/chats/${sent[0].chat_id}`;
  waiting = sent.slice(1).map(({ message_id }) => message_id);
});
afterAll(() => world.close());

const texts = (queue: { message: string }[]) => queue.map(({ message }) => message);
const queue = async () => texts((await org.call('GET', `${chat}/queue`)).body.queue);
const reorder = (body: object) => org.call('PATCH', `${chat}/queue/reorder`, body);

describe('the queue of a chat', () => {
  test('does not hold the message in work', async () => {
    expect(await queue()).toEqual(['two', 'three', 'four']);
    const { body } = await org.call('GET', `${replica}/chats`);
    expect(body.chats).toMatchObject([{ processing: true, lastMessageText: 'four' }]);
  });

  test.each([
    ['to the front', 2, 0, ['four', 'two', 'three'], true],
    ['to the end', 0, 2, ['three', 'four', 'two'], true],
    ['past the end', 0, 1_000_000, ['three', 'four', 'two'], true],
    ['to where it is', 1, 1, ['two', 'three', 'four'], false],
  ])('moves a message %s', async (_where, index, position, expected, success) => {
    const { status, body } = await reorder({ messageId: waiting[index], position });
    expect([status, body.success, texts(body.queue)]).toEqual([200, success, expected]);
    expect(await queue()).toEqual(expected);
  });

  test.each([
    ['a position below 0', { position: -1 }, 400],
    ['a position that is no integer', { position: 1.5 }, 400],
    ['a position that is text', { position: '1' }, 400],
    ['no position', {}, 400],
    ['an id that is none', { messageId: 'x', position: 0 }, 400],
    ['a message that is unknown', { messageId: newId(), position: 0 }, 404],
  ])('refuses %s', async (_what, body, status) => {
    expect((await reorder({ messageId: waiting[0], ...body })).status).toBe(status);
    expect(await queue()).toEqual(['two', 'three', 'four']);
  });

  test('loses one message that is removed, and only once', async () => {
    const path = `${chat}/queue/${waiting[1]}`;
    const { body } = await org.call('DELETE', path);
    expect([body.success, texts(body.queue)]).toEqual([true, ['two', 'four']]);
    expect((await org.call('DELETE', path)).status).toBe(404);
    expect((await org.call('DELETE', `${chat}/queue/nonsense`)).status).toBe(404);
    expect(await queue()).toEqual(['two', 'four']);
  });

  test('is cleared without touching the message in work', async () => {
    expect((await org.call('DELETE', `${chat}/queue`)).body).toEqual({ success: true, queue: [] });
    expect((await org.call('DELETE', `${chat}/queue`)).body).toEqual({ success: false, queue: [] });
    expect((await org.call('GET', `${chat}/queue`)).body).toMatchObject({ processing: true, queue: [] });
  });

  test('keeps the message in work out of reach', async () => {
    const { id } = await world.db
      .selectFrom('message')
      .select('id')
      .where('replica_id', '=', replica.split('/')[3] ?? '')
      .where('state', '=', 'running')
      .executeTakeFirstOrThrow();
    expect((await org.call('DELETE', `${chat}/queue/${id}`)).status).toBe(404);
    expect((await reorder({ messageId: id, position: 1 })).status).toBe(404);
  });

  test('is left alone by an interrupt', async () => {
    expect((await org.call('POST', `${chat}/interrupt`)).body).toEqual({ interrupted: true, queue: waiting });
    expect(await queue()).toEqual(['two', 'three', 'four']);
  });

  test("is nobody else's to see or change", async () => {
    const foreign = await world.org();
    const calls = [
      ['GET', `${chat}/queue`],
      ['DELETE', `${chat}/queue`],
      ['DELETE', `${chat}/queue/${waiting[0]}`],
      ['PATCH', `${chat}/queue/reorder`, { messageId: waiting[0], position: 1 }],
      ['POST', `${chat}/interrupt`],
      ['DELETE', chat],
    ] as const;
    for (const [method, path, body] of calls) {
      expect((await foreign.call(method, path, body)).status).toBe(404);
      const other = await insertReplica(world.db, { organizationId: org.id, state: 'active' });
      const moved = path.replace(replica, `/v1/replica/${other}`);
      expect((await org.call(method, moved, body)).status).toBe(404);
    }
    expect(await queue()).toEqual(['two', 'three', 'four']);
  });

  test('goes with its chat', async () => {
    expect((await org.call('DELETE', chat)).body).toEqual({ success: true });
    expect((await org.call('GET', `${chat}/queue`)).status).toBe(404);
    const open = await world.db.selectFrom('message').select('state').where('id', 'in', waiting).execute();
    expect(new Set(open.map(({ state }) => state))).toEqual(new Set(['removed']));
  });
});
