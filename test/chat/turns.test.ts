import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { openStage, type Stage, until } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

type Replica = Awaited<ReturnType<Stage['replica']>>;
const states = async (replica: Replica) => (await replica.messages()).map(({ state }) => state);
const types = async (replica: Replica) => (await replica.events()).map(({ type }) => type);
const hasEnded = (replica: Replica, id: string, state: string) =>
  until(async () => (await replica.messages()).find((message) => message.id === id)?.state === state);

describe('the way of a message', () => {
  test('from its acceptance through the engine to its end', async () => {
    const replica = await stage.replica();
    const sent = await replica.send('Hello');
    expect(sent).toMatchObject({ status: 'sent', position: null });
    expect(await replica.queue(sent.chatId)).toEqual({ processing: true, queue: [] });

    const turn = await replica.arrived(1);
    expect(turn).toMatchObject({
      id: sent.messageId,
      chatId: sent.chatId,
      agent: 'scripted',
      message: 'Hello',
      thinkingLevel: 'high',
      planMode: false,
      images: [],
      credential: null,
    });
    await until(async () => (await replica.messages())[0]?.sent_at !== null);
    await replica.start(turn);
    await replica.say(turn, 'Hi');
    await replica.finish(turn);

    expect(await states(replica)).toEqual(['completed']);
    expect(await replica.queue(sent.chatId)).toEqual({ processing: false, queue: [] });
    expect(await types(replica)).toEqual([
      'chat.created',
      'chat.turn.accepted',
      'chat.updated',
      'chat.turn.started',
      'chat.turn.delta',
      'chat.turn.completed',
      'chat.updated',
    ]);
    const { entries, senders } = await replica.history();
    expect(entries.map(({ type, payload }) => [type, payload])).toEqual([
      [
        'claude-user',
        {
          type: 'user',
          message: { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
          message_id: sent.messageId,
        },
      ],
      ['claude-assistant', { text: 'Hi' }],
    ]);
    expect(senders.get(sent.messageId)).toEqual({ userId: null, email: null, displayName: 'Service bot' });
  });

  test('the next message follows when a turn ends, however it ends', async () => {
    const replica = await stage.replica();
    const first = await replica.send('one');
    const others = [await replica.send('two'), await replica.send('three')];
    expect(others.map(({ status, position }) => [status, position])).toEqual([
      ['queued', 0],
      ['queued', 1],
    ]);
    const one = await replica.arrived(1);
    await replica.start(one);
    await replica.finish(one, 'failed', 'The agent fell over.');
    const two = await replica.arrived(2);
    await replica.start(two);
    await replica.finish(two, 'interrupted');
    const three = await replica.arrived(3);
    await replica.finish(three);
    expect([one, two, three].map(({ message }) => message)).toEqual(['one', 'two', 'three']);
    expect(await states(replica)).toEqual(['failed', 'interrupted', 'completed']);
    expect((await replica.messages())[0]?.error).toBe('The agent fell over.');
    const events = await replica.events();
    expect(events.find(({ type }) => type === 'error')?.payload).toEqual({
      code: 'turn_failed',
      message: 'The agent fell over.',
      details: { chatId: first.chatId, messageId: first.messageId },
    });
    expect(events.find(({ type }) => type === 'chat.interrupted')?.payload).toEqual({
      chatId: first.chatId,
      interrupted: true,
      queue: [],
    });
    expect(
      events.filter(({ type }) => type === 'chat.turn.completed').map(({ payload }) => payload),
    ).toMatchObject(
      [false, false, true].map((isComplete) => ({ chatId: first.chatId, isComplete, pr_urls: [] })),
    );
  });

  test('chats of one replica run beside each other', async () => {
    const replica = await stage.replica();
    const { chatId } = await replica.send('one');
    const other = await replica.held((tx, row) =>
      stage.chats.create(tx, replica.caller, {
        id: row.id,
        isStrict: false,
        provider: 'codex',
        title: null,
      }),
    );
    await replica.send('two', { chat_id: other.id });
    await replica.arrived(2);
    expect(new Set(replica.engine.arrivals.map((turn) => turn.chatId))).toEqual(new Set([chatId, other.id]));
  });

  test('messages to a replica that is not active wait until it is', async () => {
    const replica = await stage.replica('preparing');
    expect(await replica.send('one')).toMatchObject({ status: 'queued', position: 0 });
    expect(await replica.send('two')).toMatchObject({ status: 'queued', position: 1 });
    await replica.held(async (tx, row) => {
      const booted = await stage.replicas.report(tx, row, 'booted');
      if (booted) await stage.chats.onBooted(tx, booted);
    });
    expect((await replica.arrived(1)).message).toBe('one');
    expect(await states(replica)).toEqual(['running', 'queued']);
  });

  test('a replica of policy delete_when_done goes after the last turn of the last queue', async () => {
    const replica = await stage.replica('active', { lifecycle_policy: 'delete_when_done' });
    await replica.send('one');
    await replica.send('two');
    await replica.finish(await replica.arrived(1));
    expect((await replica.row()).state).toBe('active');
    await replica.finish(await replica.arrived(2));
    expect((await replica.row()).state).toBe('deleting');
  });
});

describe('an engine in trouble', () => {
  test('a message waits for an engine that cannot be reached, and arrives once', async () => {
    const replica = await stage.replica();
    replica.engine.setReachable(false);
    await replica.send('one');
    await replica.send('two');
    expect(await states(replica)).toEqual(['running', 'queued']);
    replica.engine.setReachable(true);
    const one = await replica.arrived(1);
    await replica.finish(one);
    await replica.arrived(2);
    expect(replica.engine.arrivals.map(({ message }) => message)).toEqual(['one', 'two']);
  });

  test('an engine that breaks off after it took a message is asked again, and works on it once', async () => {
    const replica = await stage.replica();
    replica.engine.breakOffOnce();
    const sent = await replica.send('one');
    await until(async () => (await replica.messages())[0]?.sent_at !== null);
    expect(replica.engine.arrivals.map(({ id }) => id)).toEqual([sent.messageId]);
  });

  test('a message that the engine refuses fails, and the next one follows', async () => {
    const replica = await stage.replica();
    replica.engine.refuseWith(422);
    const refused = await replica.send('one');
    await hasEnded(replica, refused.messageId, 'failed');
    expect((await replica.messages())[0]?.error).toMatch(
      /answered 422.* It says: The engine has a reason\.$/,
    );
    replica.engine.refuseWith(null);
    await replica.send('two');
    expect((await replica.arrived(1)).message).toBe('two');
  });

  test('a sandbox that started anew is sent what had not begun, and nothing that had', async () => {
    const replica = await stage.replica();
    const one = await replica.send('one');
    await replica.start(await replica.arrived(1));
    const chat = await replica.held((tx, row) =>
      stage.chats.create(tx, replica.caller, { id: row.id, isStrict: false, provider: 'codex', title: null }),
    );
    const two = await replica.send('two', { chat_id: chat.id });
    await replica.arrived(2);
    await until(async () => (await replica.messages()).every(({ sent_at }) => sent_at !== null));

    replica.engine.forget();
    await replica.held(async (tx, row) => {
      const lost = await stage.replicas.report(tx, row, 'lost');
      const booted = lost && (await stage.replicas.report(tx, lost, 'booted'));
      if (booted) await stage.chats.onBooted(tx, booted);
    });
    await replica.arrived(3);
    expect(replica.engine.arrivals.map(({ id }) => id)).toEqual([
      one.messageId,
      two.messageId,
      two.messageId,
    ]);
  });

  test('when the disk is lost, what had begun fails and what had not is sent again', async () => {
    const replica = await stage.replica();
    await replica.send('one');
    await replica.start(await replica.arrived(1));
    const { messageId } = await replica.send('two');
    replica.engine.forget();
    await replica.held(async (tx, row) => {
      const lost = await stage.replicas.report(tx, row, 'lost');
      if (lost) await stage.chats.failRunning(tx, lost, 'The disk was lost.');
    });
    expect(await states(replica)).toEqual(['failed', 'queued']);
    await replica.held(async (tx, row) => {
      const booted = await stage.replicas.report(tx, row, 'booted');
      if (booted) await stage.chats.onBooted(tx, booted);
    });
    expect((await replica.arrived(2)).id).toBe(messageId);
  });

  test('when a replica is put to sleep, what had begun is interrupted and the rest waits', async () => {
    const replica = await stage.replica();
    await replica.send('one');
    const one = await replica.arrived(1);
    await replica.start(one);
    await replica.send('two');
    await replica.held(async (tx, row) => {
      const falling = await stage.replicas.request(tx, row, 'sleep');
      const asleep = await stage.replicas.report(tx, falling, 'suspended');
      if (asleep) await stage.chats.onSuspended(tx, asleep);
    });
    expect(await states(replica)).toEqual(['interrupted', 'queued']);
    await replica.finish(one, 'failed', 'what the engine says of it later');
    expect(await states(replica)).toEqual(['interrupted', 'queued']);
  });

  test('a replica that has failed for good leaves nothing waiting or running', async () => {
    const replica = await stage.replica();
    await replica.send('one');
    await replica.send('two');
    await replica.held((tx, row) => stage.replicas.report(tx, row, 'failed'));
    expect((await replica.messages()).map(({ state, error }) => [state, error])).toEqual([
      ['failed', 'The sandbox is gone.'],
      ['failed', 'The sandbox is gone.'],
    ]);
  });

  test('a job that went missing is added again', async () => {
    const replica = await stage.replica('sleeping');
    await replica.send('one');
    await stage.db.updateTable('replica').set({ state: 'active' }).where('id', '=', replica.id).execute();
    const longAgo = new Date(Date.now() - 60_000);
    await stage.db
      .updateTable('message')
      .set({ created_at: longAgo })
      .where('replica_id', '=', replica.id)
      .execute();
    expect(await stage.chats.turns.requestDue(stage.db)).toBeGreaterThanOrEqual(1);
    expect((await replica.arrived(1)).message).toBe('one');
  });
});

describe('what an engine says is not believed', () => {
  const said = (turnId: string, chatId: string) =>
    [
      { type: 'turn.started', payload: { turnId, chatId } },
      { type: 'turn.message', payload: { turnId, chatId, type: 'claude-assistant', payload: { text: 'x' } } },
      { type: 'turn.delta', payload: { turnId, chatId, event: { text: 'x' } } },
      { type: 'turn.finished', payload: { turnId, chatId, outcome: 'completed', error: null } },
    ] as const;

  test.each([
    ['unknown turns', async () => ({ turnId: newId(), chatId: newId() })],
    [
      'a turn in another chat',
      async (replica: Replica) => ({ turnId: (await replica.send('one')).messageId, chatId: newId() }),
    ],
    [
      'a message that waits',
      async (replica: Replica) => {
        await replica.send('one');
        const { messageId: turnId, chatId } = await replica.send('two');
        return { turnId, chatId };
      },
    ],
    [
      'a turn of another replica',
      async () => {
        const other = await stage.replica();
        const { messageId: turnId, chatId } = await other.send('one');
        return { turnId, chatId };
      },
    ],
    [
      'a turn that is over',
      async (replica: Replica) => {
        const { messageId: turnId, chatId } = await replica.send('one');
        await replica.finish(await replica.arrived(1));
        return { turnId, chatId };
      },
    ],
  ])('%s', async (_what, prepare) => {
    const replica = await stage.replica();
    const { turnId, chatId } = await prepare(replica);
    const before = { events: await types(replica), messages: await states(replica) };
    const { total } = await replica.history();
    for (const event of said(turnId, chatId)) await replica.report(event);
    expect({ events: await types(replica), messages: await states(replica) }).toEqual(before);
    expect((await replica.history()).total).toBe(total);
  });

  test('a message without end is cut, and a turn starts once', async () => {
    const replica = await stage.replica();
    await replica.send('one');
    const turn = await replica.arrived(1);
    await replica.start(turn);
    await replica.start(turn);
    await replica.say(turn, 'x'.repeat(2_500_000));
    expect((await types(replica)).filter((type) => type === 'chat.turn.started')).toHaveLength(1);
    const { entries } = await replica.history();
    expect(JSON.stringify(entries.at(-1)?.payload).length).toBeLessThan(1_048_576);
    const delta = (await replica.events()).find(({ type }) => type === 'chat.turn.delta');
    expect(JSON.stringify(delta?.payload).length).toBeLessThan(70_000);
  });
});
