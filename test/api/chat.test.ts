import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type ApiAnswer, type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world.close());

const strict = { prefer: 'handling=strict' };
const replica = async (state: ReplicaState = 'active', coding_agent = 'claude') =>
  `/v1/replica/${await insertReplica(world.db, { organizationId: org.id, state, coding_agent })}`;
const send = (path: string, message: string, body: object = {}, headers: Record<string, string> = {}) =>
  org.call('POST', `${path}/messages`, { message, ...body }, headers);
const refusal = ({ status, headers }: ApiAnswer) => [status, headers.get('x-service-error-code')];
const stateOf = async (path: string) =>
  (
    await world.db
      .selectFrom('replica')
      .select('state')
      .where('id', '=', path.split('/')[3] ?? '')
      .executeTakeFirstOrThrow()
  ).state;
const stored = async (messageId: string) =>
  world.db.selectFrom('message').selectAll().where('id', '=', messageId).executeTakeFirstOrThrow();

describe('sending a message', () => {
  test('the first one is sent, later ones wait in the queue', async () => {
    const path = await replica();
    const first = await send(path, 'one');
    expect(first.body).toMatchObject({ status: 'sent', position: null });
    const second = await send(path, 'two');
    expect(second.body).toMatchObject({ status: 'queued', position: 0, chat_id: first.body.chat_id });
    expect((await send(path, 'three')).body).toMatchObject({ status: 'queued', position: 1 });
    const { body } = await org.call('GET', `${path}/chats/${first.body.chat_id}/queue`);
    expect(body).toMatchObject({
      chatId: first.body.chat_id,
      processing: true,
      queue: [
        { id: second.body.message_id, message: 'two', senderDisplayName: 'Service bot' },
        { message: 'three' },
      ],
    });
  });

  test.each([
    ['preparing', 'queued', 'preparing'],
    ['active', 'sent', 'active'],
    ['falling_asleep', 'waking', 'waking'],
    ['sleeping', 'waking', 'waking'],
    ['waking', 'waking', 'waking'],
    ['archiving', 'waking', 'waking'],
    ['archived', 'waking', 'waking'],
  ] as const)('to a replica that is %s: %s', async (state, status, next) => {
    const path = await replica(state);
    const { body } = await send(path, 'Hello');
    expect(body.status).toBe(status);
    expect(body.position).toBe(status === 'queued' ? 0 : null);
    expect(await stateOf(path)).toBe(next);
    expect((await stored(body.message_id)).text).toBe('Hello');
  });

  test.each(['falling_asleep', 'sleeping', 'waking', 'archived'] as const)(
    'strict handling refuses a replica that is %s and changes nothing',
    async (state) => {
      const path = await replica(state);
      expect(refusal(await send(path, 'Hello', {}, strict))).toEqual([409, 'invalid_state']);
      expect(await stateOf(path)).toBe(state);
      expect((await org.call('GET', `${path}/chats`)).body.chats).toEqual([]);
    },
  );

  test('strict handling does not hinder a replica that is awake', async () => {
    expect((await send(await replica(), 'Hello', {}, strict)).status).toBe(200);
    expect((await send(await replica('preparing'), 'Hello', {}, strict)).status).toBe(200);
  });

  test('a replica that has failed, was deleted, or belongs to somebody else takes none', async () => {
    expect(refusal(await send(await replica('failed'), 'Hello'))).toEqual([409, 'invalid_state']);
    expect(refusal(await send(await replica('deleted'), 'Hello'))).toEqual([404, 'not_found']);
    const foreign = await replica();
    org = await world.org();
    expect(refusal(await send(foreign, 'Hello'))).toEqual([404, 'not_found']);
    expect(refusal(await send('/v1/replica/nonsense', 'Hello'))).toEqual([404, 'not_found']);
  });

  test('it goes to the chat that is named, else to the last one that fits, else to a new one', async () => {
    const path = await replica();
    const claude = (await send(path, 'one')).body.chat_id;
    const codex = (await send(path, 'two', { coding_agent: 'codex' })).body.chat_id;
    expect(codex).not.toBe(claude);
    expect((await send(path, 'three')).body.chat_id).toBe(codex);
    expect((await send(path, 'four', { coding_agent: 'claude' })).body.chat_id).toBe(claude);
    expect((await send(path, 'five')).body.chat_id).toBe(claude);
    expect((await send(path, 'six', { chat_id: codex })).body.chat_id).toBe(codex);
    const opened = await org.call('POST', `${path}/chats`, { provider: 'codex' });
    expect((await send(path, 'seven', { coding_agent: 'codex' })).body.chat_id).toBe(opened.body.id);
    const { chats } = (await org.call('GET', `${path}/chats`)).body;
    expect(
      chats.map(({ provider, lastMessageText }: Record<string, string>) => [provider, lastMessageText]),
    ).toEqual([
      ['claude', 'five'],
      ['codex', 'six'],
      ['codex', 'seven'],
    ]);
  });

  test("a chat that is unknown, another replica's, or another agent's is refused", async () => {
    const path = await replica();
    const other = (await send(await replica(), 'Hello')).body.chat_id;
    expect(refusal(await send(path, 'Hello', { chat_id: newId() }))).toEqual([404, 'not_found']);
    expect(refusal(await send(path, 'Hello', { chat_id: other }))).toEqual([404, 'not_found']);
    const { chat_id } = (await send(path, 'Hello')).body;
    expect(refusal(await send(path, 'Hello', { chat_id, coding_agent: 'codex' }))).toEqual([
      400,
      'invalid_request',
    ]);
    expect((await send(path, 'Hello', { chat_id, coding_agent: 'claude' })).status).toBe(200);
  });

  test('leading words and flags are combined', async () => {
    const path = await replica('active', 'codex');
    const { body } = await send(path, '/goal /plan ship it', {
      fast_mode: true,
      thinking_level: 'max',
      model: 'm',
    });
    expect(await stored(body.message_id)).toMatchObject({
      text: 'ship it',
      options: {
        plan_mode: true,
        goal_mode: true,
        fast_mode: true,
        thinking_level: 'max',
        model: 'm',
        images: [],
      },
    });
  });

  test('goals are for codex: the flag is refused elsewhere, the word is text', async () => {
    const path = await replica();
    expect(refusal(await send(path, 'ship it', { goal_mode: true }))).toEqual([400, 'invalid_request']);
    const { body } = await send(path, '/goal ship it', { goal_mode: false });
    expect(await stored(body.message_id)).toMatchObject({
      text: '/goal ship it',
      options: { goal_mode: false },
    });
  });

  test.each([
    ['no message', {}, 400],
    ['an empty message', { message: ' \n' }, 400],
    ['nothing but words', { message: '/plan /fast' }, 400],
    ['a NUL', { message: 'a\0' }, 400],
    ['a chat id that is none', { message: 'a', chat_id: 'x' }, 400],
    ['an agent that is none', { message: 'a', coding_agent: 'gpt' }, 400],
    ['a thinking level that is none', { message: 'a', thinking_level: 'extreme' }, 400],
    [
      'an image in base64',
      { message: 'a', images: [image({ type: 'base64', media_type: 'image/png', data: 'AAAA' })] },
      200,
    ],
    [
      'an image at an address',
      { message: 'a', images: [image({ type: 'url', url: 'https://example.com/a.png' })] },
      200,
    ],
    [
      'an image of another kind',
      { message: 'a', images: [image({ type: 'base64', media_type: 'image/bmp', data: 'AAAA' })] },
      400,
    ],
    [
      'an image that is not base64',
      { message: 'a', images: [image({ type: 'base64', media_type: 'image/png', data: 'A A=' })] },
      400,
    ],
    [
      'an image in a file',
      { message: 'a', images: [image({ type: 'url', url: 'file:///etc/passwd' })] },
      400,
    ],
    [
      'too many images',
      { message: 'a', images: Array(21).fill(image({ type: 'url', url: 'https://example.com' })) },
      400,
    ],
    [
      'an image larger than most bodies',
      {
        message: 'a',
        images: [image({ type: 'base64', media_type: 'image/png', data: 'AAAA'.repeat(1_000_000) })],
      },
      200,
    ],
  ])('%s: %#', async (_what, body, status) => {
    const path = await replica();
    expect((await org.call('POST', `${path}/messages`, body)).status).toBe(status);
  });

  test('the same key sends a message once', async () => {
    const path = await replica();
    const key = { 'idempotency-key': newId() };
    const answers = await Promise.all(Array.from({ length: 4 }, () => send(path, 'once', {}, key)));
    expect(new Set(answers.map(({ body }) => body.message_id)).size).toBe(1);
  });

  test('a queue holds 1,000 messages', async () => {
    const path = await replica();
    const { chat_id, message_id } = (await send(path, 'one')).body;
    const { replica_id, organization_id } = await stored(message_id);
    const rows = Array.from({ length: 1_000 }, (_, n) => ({
      id: newId(),
      organization_id,
      replica_id,
      chat_id,
      position: n,
      state: 'queued',
      text: 'x',
      created_at: new Date(),
    }));
    await world.db.insertInto('message').values(rows).execute();
    expect(refusal(await send(path, 'more'))).toEqual([409, 'limit_reached']);
  });

  test.each(['cursor', 'opencode'] as const)('%s needs a credential of the organization', async (agent) => {
    const path = await replica();
    const refused = await send(path, 'Hello', { coding_agent: agent });
    expect(refusal(refused)).toEqual([400, 'invalid_request']);
    expect(refused.body.error).toContain(`/v1/organization/coding-agents/${agent}`);
    await org.call('PUT', `/v1/organization/coding-agents/${agent}`, { api_key: 'sk-0123456789abcdef' });
    expect((await send(path, 'Hello', { coding_agent: agent })).status).toBe(200);
  });
});

function image(source: object) {
  return { type: 'image', source };
}

describe('senders', () => {
  test('a person speaks for themselves', async () => {
    const path = await replica();
    const person = await world.person(org, 'member');
    await send(path, 'first');
    const { body } = await person.call('POST', `${path}/messages`, { message: 'Hello' });
    expect((await stored(body.message_id)).sender).toEqual({
      userId: person.id,
      email: person.email,
      displayName: 'Ada',
    });
    const queue = await org.call('GET', `${path}/chats/${body.chat_id}/queue`);
    expect(queue.body.queue[0].senderDisplayName).toBe('Ada');
    const pretending = { message: 'Hello', senderEmail: 'boss@example.com' };
    expect(refusal(await person.call('POST', `${path}/messages`, pretending))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test('an org key may say for whom it speaks', async () => {
    const path = await replica();
    const person = await world.person(org, 'member');
    const known = { userId: person.id, email: person.email, displayName: 'Ada' };
    const senderOf = async (body: object) =>
      (await stored((await send(path, 'Hello', body)).body.message_id)).sender;
    expect(await senderOf({ senderUserId: person.id })).toEqual(known);
    expect(await senderOf({ senderEmail: person.email.toUpperCase() })).toEqual(known);
    expect(await senderOf({ senderEmail: 'guest@example.com' })).toEqual({
      userId: null,
      email: 'guest@example.com',
      displayName: 'guest@example.com',
    });
    expect(await senderOf({})).toEqual({ userId: null, email: null, displayName: 'Service bot' });
    const stranger = await world.person(await world.org(), 'member');
    for (const senderUserId of [newId(), stranger.id])
      expect(refusal(await send(path, 'Hello', { senderUserId }))).toEqual([400, 'invalid_request']);
  });
});

describe('chats', () => {
  test('are opened, listed and deleted', async () => {
    const path = await replica();
    const opened = await org.call('POST', `${path}/chats`, { provider: 'codex', title: 'Review' });
    expect(opened.status).toBe(201);
    expect(opened.body).toMatchObject({
      provider: 'codex',
      title: 'Review',
      processing: false,
      lastMessageText: null,
    });
    expect((await org.call('GET', `${path}/chats`)).body).toEqual({ chats: [opened.body] });
    expect((await org.call('DELETE', `${path}/chats/${opened.body.id}`)).body).toEqual({ success: true });
    expect((await org.call('GET', `${path}/chats`)).body).toEqual({ chats: [] });
    expect((await org.call('DELETE', `${path}/chats/${opened.body.id}`)).status).toBe(404);
  });

  test('may have an id of the caller, once in a replica', async () => {
    const path = await replica();
    const id = newId();
    expect((await org.call('POST', `${path}/chats`, { provider: 'claude', id })).body).toMatchObject({ id });
    const again = await org.call('POST', `${path}/chats`, { provider: 'claude', id });
    expect(refusal(again)).toEqual([409, 'already_exists']);
    expect((await org.call('DELETE', `${path}/chats/${id}`)).status).toBe(200);
    const late = await org.call('POST', `${path}/chats`, { provider: 'claude', id });
    expect(refusal(late)).toEqual([409, 'already_exists']);
    expect(refusal(await org.call('POST', `${path}/chats`, { provider: 'gpt' }))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test('a replica has 100 of them', async () => {
    const path = await replica();
    const at = new Date();
    const rows = Array.from({ length: 100 }, () => ({
      id: newId(),
      organization_id: org.id,
      replica_id: path.split('/')[3] ?? '',
      provider: 'claude',
      created_at: at,
      updated_at: at,
    }));
    await world.db.insertInto('chat').values(rows).execute();
    expect(refusal(await org.call('POST', `${path}/chats`, { provider: 'claude' }))).toEqual([
      409,
      'limit_reached',
    ]);
  });

  test('of a sleeping replica are served without waking it, unless handling is strict', async () => {
    const path = await replica('sleeping');
    const { id } = (await org.call('POST', `${path}/chats`, { provider: 'claude' })).body;
    const calls = [
      ['GET', `${path}/chats`],
      ['GET', `${path}/chats/${id}/queue`],
      ['DELETE', `${path}/chats/${id}/queue`],
      ['POST', `${path}/chats/${id}/interrupt`],
      ['DELETE', `${path}/chats/${id}`],
    ] as const;
    for (const [method, url] of calls)
      expect(refusal(await org.call(method, url, undefined, strict))).toEqual([409, 'invalid_state']);
    for (const [method, url] of calls) expect((await org.call(method, url)).status).toBe(200);
    expect(await stateOf(path)).toBe('sleeping');
  });

  test('of a waking replica are listed as such, of a failed one not at all', async () => {
    expect((await org.call('GET', `${await replica('waking')}/chats`)).body).toEqual({
      chats: [],
      waking: true,
    });
    expect(refusal(await org.call('GET', `${await replica('failed')}/chats`))).toEqual([
      409,
      'invalid_state',
    ]);
  });
});
