import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let environmentId: string;
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  org = await world.org();
  environmentId = (await org.call('POST', '/v1/environments', { name: 'web' })).body.environment.id;
});
afterAll(() => world.close());

const atOnce = { 'x-service-api-version': '2026-05-17' };
type Said = { type: string; payload: { text?: string; message?: string | { content: { text: string }[] } } };

async function create(message: string, body: object = {}): Promise<string> {
  const wanted = { name: 'test', message, environment_id: environmentId, ...body };
  const made = await org.call('POST', '/v1/replica', wanted, atOnce);
  expect(made.status).toBe(201);
  return `/v1/replica/${made.body.replica.id}`;
}

const WAIT = 'SCRIPT:[{"sleepMs":60000}]';
/** What the fake agent says to a message without a script, after the message itself. */
const exchange = (text: string) => [
  `claude-user: ${text}`,
  `scripted-assistant: I am a fake and have done nothing with: ${text}`,
];

/** What was said in a replica, once it is so much; how turns ended is left out. */
function said(path: string, count: number, query = ''): Promise<string[]> {
  return vi.waitFor(
    async () => {
      const { body } = await org.call('GET', `${path}/history?wake=false&limit=500${query}`);
      const events: Said[] = body.events.filter(({ type }: Said) => type !== 'scripted-result');
      expect(events.length).toBeGreaterThanOrEqual(count);
      return events.map(({ type, payload: { text, message } }) => {
        const user = typeof message === 'object' ? message.content[0]?.text : message;
        return `${type}: ${text ?? user}`;
      });
    },
    { timeout: 20_000, interval: 20 },
  );
}

const becomes = (path: string, status: string) =>
  vi.waitFor(
    async () => expect((await org.call('GET', `${path}?wake=false`)).body.replica.status).toBe(status),
    { timeout: 20_000, interval: 20 },
  );

const processing = (chat: string, expected: boolean) =>
  vi.waitFor(async () => expect((await org.call('GET', `${chat}/queue`)).body.processing).toBe(expected), {
    timeout: 20_000,
    interval: 20,
  });

describe('turns in a running replica', () => {
  test('the message of the creation is the first turn, and later ones follow in order', async () => {
    const path = await create('Hello');
    for (const message of ['two', 'three']) await org.call('POST', `${path}/messages`, { message });
    expect(await said(path, 6)).toEqual(['Hello', 'two', 'three'].flatMap(exchange));
    const { replica } = (await org.call('GET', path)).body;
    expect(replica.lastChatMessage).toMatchObject({ text: 'three', provider: 'claude' });
    expect(replica.chats).toMatchObject([{ lastMessageText: 'three' }]);
  });

  test('a turn is interrupted, and the queue goes on', async () => {
    const path = await create(WAIT);
    await said(path, 1);
    const [{ id }] = (await org.call('GET', `${path}/chats`)).body.chats;
    const chat = `${path}/chats/${id}`;
    await org.call('POST', `${path}/messages`, { message: 'next' });
    expect((await org.call('POST', `${chat}/interrupt`)).body).toMatchObject({ interrupted: true });
    expect(await said(path, 3)).toEqual([`claude-user: ${WAIT}`, ...exchange('next')]);
    await processing(chat, false);
    expect((await org.call('POST', `${chat}/interrupt`)).body).toEqual({ interrupted: false, queue: [] });
  });

  test('a chat is deleted while its turn runs', async () => {
    const path = await create(WAIT);
    await said(path, 1);
    const [{ id }] = (await org.call('GET', `${path}/chats`)).body.chats;
    expect((await org.call('DELETE', `${path}/chats/${id}`)).body).toEqual({ success: true });
    await vi.waitFor(
      async () => {
        const { state } = await world.db
          .selectFrom('message')
          .select('state')
          .where('chat_id', '=', id)
          .executeTakeFirstOrThrow();
        expect(state).toBe('interrupted');
      },
      { timeout: 20_000, interval: 20 },
    );
    await org.call('POST', `${path}/messages`, { message: 'again' });
    expect(await said(path, 2)).toEqual(exchange('again'));
  });

  test('a message wakes a sleeping replica and is answered', async () => {
    const path = await create('Hello');
    await said(path, 2);
    await org.call('POST', `${path.replace('replica', 'workspaces')}/sleep`);
    await becomes(path, 'sleeping');
    const sent = await org.call('POST', `${path}/messages`, { message: 'Still there?' });
    expect(sent.body).toMatchObject({ status: 'waking', position: null });
    expect(await said(path, 4)).toEqual(['Hello', 'Still there?'].flatMap(exchange));
  });

  test('a replica of policy delete_when_done goes when its agent is done', async () => {
    const path = await create('Hello', { lifecycle_policy: 'delete_when_done' });
    await vi.waitFor(async () => expect((await org.call('GET', path)).status).toBe(404), {
      timeout: 20_000,
      interval: 20,
    });
  });

  test('messages that many clients send to several chats are each answered once and in order', async () => {
    const path = await create('Hello');
    const chats = await Promise.all(
      ['claude', 'codex', 'claude'].map(
        async (provider) => (await org.call('POST', `${path}/chats`, { provider })).body.id as string,
      ),
    );
    const sent = await Promise.all(
      chats.flatMap((chat_id) =>
        Array.from({ length: 8 }, async (_, n) => {
          const message = `${n}`;
          const { body } = await org.call('POST', `${path}/messages`, { message, chat_id });
          return { chat_id, message, id: body.message_id as string };
        }),
      ),
    );
    for (const chat of chats) {
      const lines = await said(path, 16, `&chat_id=${chat}`);
      const answers = lines.filter((line) => line.startsWith('scripted-assistant'));
      // Ids grow with the order in which messages were accepted.
      const accepted = sent
        .filter(({ chat_id }) => chat_id === chat)
        .toSorted((a, b) => (a.id < b.id ? -1 : 1));
      expect(answers).toEqual(accepted.map(({ message }) => exchange(message)[1]));
    }
  });
});
