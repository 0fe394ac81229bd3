import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import type { ReplicaState } from '../../src/replica/lifecycle.ts';
import { insertReplica } from '../chat/replica-row.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world.close());

const replica = async (state: ReplicaState = 'active') =>
  `/v1/replica/${await insertReplica(world.db, { organizationId: org.id, state })}`;
const openChat = async (path: string, provider: string): Promise<string> =>
  (await org.call('POST', `${path}/chats`, { provider })).body.id;

/** What an agent said, numbered; each `size` characters long. */
async function say(path: string, chatId: string, numbers: number[], size = 1): Promise<void> {
  const rows = numbers.map((n) => ({
    replica_id: path.split('/')[3] ?? '',
    chat_id: chatId,
    at: new Date(1_700_000_000_000 + n),
    type: 'claude-assistant',
    payload: JSON.stringify({ n, text: 'x'.repeat(size) }),
  }));
  await world.db.insertInto('history_entry').values(rows).execute();
}

const count = (length: number, from = 0) => Array.from({ length }, (_, n) => from + n);
const numbers = (events: { payload: { n: number } }[]) => events.map(({ payload }) => payload.n);

describe('history', () => {
  test('begins with what the user said and who it was', async () => {
    const path = await replica();
    const person = await world.person(org, 'member');
    const sent = await person.call('POST', `${path}/messages`, { message: '/plan Hello' });
    const { body } = await org.call('GET', `${path}/history`);
    expect(body).toEqual({
      thread_id: sent.body.chat_id,
      events: [
        {
          timestamp: expect.any(String),
          type: 'claude-user',
          payload: {
            type: 'user',
            message: { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
            message_id: sent.body.message_id,
          },
        },
      ],
      total: 1,
      has_more: false,
      coding_agent: 'claude',
      waking: false,
      senders: {
        [sent.body.message_id]: { userId: person.id, email: person.email, displayName: 'Ada' },
      },
    });
  });

  test('is paged from the end, oldest first within a page', async () => {
    const path = await replica();
    await say(path, await openChat(path, 'claude'), count(120));
    const read = async (query: string) => (await org.call('GET', `${path}/history${query}`)).body;
    const last = await read('');
    expect(numbers(last.events)).toEqual(count(50, 70));
    expect([last.total, last.has_more]).toEqual([120, true]);
    expect(numbers((await read('?offset=50')).events)).toEqual(count(50, 20));
    const first = await read('?offset=100');
    expect([numbers(first.events), first.has_more]).toEqual([count(20), false]);
    expect(numbers((await read('?limit=3&offset=1')).events)).toEqual([116, 117, 118]);
    expect(await read('?offset=5000')).toMatchObject({ events: [], total: 120, has_more: false });
    expect((await read('?limit=500')).events).toHaveLength(120);
  });

  test('is read across chats and by chat', async () => {
    const path = await replica();
    const [claude, codex] = [await openChat(path, 'claude'), await openChat(path, 'codex')];
    await say(path, claude, [1, 2]);
    await say(path, codex, [3]);
    await say(path, claude, [4]);
    const all = await org.call('GET', `${path}/history`);
    expect([all.body.thread_id, all.body.coding_agent, numbers(all.body.events)]).toEqual([
      null,
      'claude',
      [1, 2, 3, 4],
    ]);
    const one = await org.call('GET', `${path}/history?chat_id=${codex}`);
    expect([one.body.thread_id, one.body.coding_agent, numbers(one.body.events), one.body.total]).toEqual([
      codex,
      'codex',
      [3],
      1,
    ]);
    await org.call('DELETE', `${path}/chats/${claude}`);
    const rest = await org.call('GET', `${path}/history`);
    expect([rest.body.total, numbers(rest.body.events)]).toEqual([1, [3]]);
    expect((await org.call('GET', `${path}/history?chat_id=${claude}`)).status).toBe(404);
  });

  test('a page of large events is shorter, and no event is passed over', async () => {
    const path = await replica();
    await say(path, await openChat(path, 'claude'), count(12), 1_000_000);
    const seen: number[] = [];
    for (let offset = 0, more = true; more; offset = seen.length) {
      const { body } = await org.call('GET', `${path}/history?limit=500&offset=${offset}`);
      expect(body.events.length).toBeLessThanOrEqual(8);
      seen.unshift(...numbers(body.events));
      more = body.has_more;
    }
    expect(seen).toEqual(count(12));
  });

  test.each([
    ['limit=0', 400],
    ['limit=501', 400],
    ['limit=many', 400],
    ['offset=-1', 400],
    ['chat_id=x', 400],
    ['wake=maybe', 400],
    [`chat_id=${newId()}`, 404],
  ])('refuses %s', async (query, status) => {
    expect((await org.call('GET', `${await replica()}/history?${query}`)).status).toBe(status);
  });

  test.each([
    ['sleeping', '', 'waking', true],
    ['falling_asleep', '', 'waking', true],
    ['sleeping', '?wake=true', 'waking', true],
    ['sleeping', '?wake=false', 'sleeping', false],
    ['waking', '', 'waking', true],
    ['waking', '?wake=false', 'waking', true],
    ['archived', '', 'archived', false],
    ['failed', '', 'failed', false],
    ['preparing', '', 'preparing', false],
    ['active', '', 'active', false],
  ] as const)('of a replica that is %s, read with %j, leaves it %s', async (state, query, next, waking) => {
    const path = await replica(state);
    const { status, body } = await org.call('GET', `${path}/history${query}`);
    expect([status, body.waking]).toEqual([200, waking]);
    const row = await world.db
      .selectFrom('replica')
      .select('state')
      .where('id', '=', path.split('/')[3] ?? '')
      .executeTakeFirstOrThrow();
    expect(row.state).toBe(next);
  });

  test('has an older name, which is deprecated', async () => {
    const path = await replica();
    await say(path, await openChat(path, 'claude'), [1, 2]);
    const [old, current] = [await org.call('GET', `${path}/read`), await org.call('GET', `${path}/history`)];
    expect(old.body).toEqual(current.body);
    expect(old.headers.get('deprecation')).toMatch(/^@\d+$/);
    expect(current.headers.get('deprecation')).toBeNull();
  });

  test("is nobody else's to read", async () => {
    const path = await replica();
    org = await world.org();
    expect((await org.call('GET', `${path}/history`)).status).toBe(404);
    expect((await org.call('GET', `${await replica('deleted')}/history`)).status).toBe(404);
  });
});
