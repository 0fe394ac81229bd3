import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

type Side = { org: Organization; path: string };

/** A chat with this id in a replica that no engine works for. */
async function openIn(org: Organization, id: string): Promise<Side> {
  const replicaId = await insertReplica(world.db, { organizationId: org.id, state: 'active' });
  const path = `/v1/replica/${replicaId}`;
  const opened = await org.call('POST', `${path}/chats`, { provider: 'claude', id });
  expect(opened).toMatchObject({ status: 201, body: { id } });
  return { org, path };
}

const send = async ({ org, path }: Side, chatId: string, message: string) =>
  (await org.call('POST', `${path}/messages`, { chat_id: chatId, message })).body;

/** Everything that can be read of a chat. */
async function sightOf({ org, path }: Side, chatId: string) {
  const read = async (rest: string) => (await org.call('GET', `${path}${rest}`)).body;
  return {
    chats: await read('/chats'),
    queue: await read(`/chats/${chatId}/queue`),
    history: await read(`/history?wake=false&chat_id=${chatId}`),
    all: await read('/history?wake=false'),
  };
}

test('a chat may have the id of one of another organization, and neither shows in the other', async () => {
  const id = newId();
  const mine = await openIn(await world.org(), id);
  expect((await send(mine, id, 'mine 1')).status).toBe('sent');
  const waiting = [await send(mine, id, 'mine 2'), await send(mine, id, 'mine 3')];
  expect(waiting.map(({ position }) => position)).toEqual([0, 1]);
  const before = await sightOf(mine, id);

  const theirs = await openIn(await world.org(), id);
  expect(await sightOf(theirs, id)).toMatchObject({
    chats: { chats: [{ id, processing: false, lastMessageText: null }] },
    queue: { processing: false, queue: [] },
    history: { total: 0, events: [] },
    all: { total: 0, events: [] },
  });
  expect((await send(theirs, id, 'theirs 1')).status).toBe('sent');
  const queued = [await send(theirs, id, 'theirs 2'), await send(theirs, id, 'theirs 3')];
  expect(queued.map(({ position }) => position)).toEqual([0, 1]);
  const seen = await sightOf(theirs, id);
  expect(seen.queue.queue.map(({ message }: { message: string }) => message)).toEqual([
    'theirs 2',
    'theirs 3',
  ]);
  expect(JSON.stringify(seen)).not.toContain('mine');

  const { org, path } = theirs;
  const chat = `${path}/chats/${id}`;
  const foreign = await org.call('DELETE', `${chat}/queue/${waiting[0]?.message_id}`);
  expect(foreign.status).toBe(404);
  const moved = { messageId: queued[1]?.message_id, position: 0 };
  expect((await org.call('PATCH', `${chat}/queue/reorder`, moved)).body).toMatchObject({ success: true });
  expect((await org.call('DELETE', `${chat}/queue`)).body).toMatchObject({ success: true, queue: [] });
  expect((await org.call('POST', `${chat}/interrupt`)).body).toEqual({ interrupted: true, queue: [] });
  expect((await org.call('DELETE', chat)).status).toBe(200);
  expect(await sightOf(mine, id)).toEqual(before);
});

test('turns in chats of one id are worked on side by side', async () => {
  const id = newId();
  const sides = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const org = await world.org();
      const side = { org, path: await createReplica(org), name };
      expect((await org.call('POST', `${side.path}/chats`, { provider: 'claude', id })).status).toBe(201);
      for (const n of [1, 2, 3]) await send(side, id, `${name} ${n}`);
      return side;
    }),
  );
  for (const side of sides) {
    const { org, path, name } = side;
    await until(async () => !(await sightOf(side, id)).queue.processing);
    expect(await statesOf(path, id)).toEqual([1, 2, 3].map((n) => `${name} ${n}: completed`));
    expect((await sightOf(side, id)).history.thread_id).toBe(id);
    await org.call('DELETE', path);
  }
});

/** A replica with an engine. */
async function createReplica(org: Organization): Promise<string> {
  const { body } = await org.call('POST', '/v1/environments', { name: 'web' });
  const wanted = { name: 'web', message: 'hello', environment_id: body.environment.id };
  const created = await org.call('POST', '/v1/replica', wanted);
  expect(created).toMatchObject({ status: 201, body: { replica: { status: 'active' } } });
  return `/v1/replica/${created.body.replica.id}`;
}

async function statesOf(path: string, chatId: string): Promise<string[]> {
  const rows = await world.db
    .selectFrom('message')
    .select(['text', 'state'])
    .where('replica_id', '=', path.split('/')[3] ?? '')
    .where('chat_id', '=', chatId)
    .orderBy('id')
    .execute();
  return rows.map(({ text, state }) => `${text}: ${state}`);
}
