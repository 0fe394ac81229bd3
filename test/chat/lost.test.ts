import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStage, type Stage, until } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

type Replica = Awaited<ReturnType<Stage['replica']>>;
const messageOf = async (replica: Replica, id: string) =>
  (await replica.messages()).find((message) => message.id === id);
const hasEnded = (replica: Replica, id: string, state: string) =>
  until(async () => (await messageOf(replica, id))?.state === state);

/** A turn that the engine has had for more than a minute, and a message that waits for its end. */
async function longTurn(replica: Replica) {
  const { messageId: id, chatId } = await replica.send('one');
  const turn = await replica.arrived(1);
  await replica.start(turn);
  const next = await replica.send('two');
  const sent_at = new Date(Date.now() - 61_000);
  await stage.db.updateTable('message').set({ sent_at }).where('id', '=', id).execute();
  return { id, chatId, turn, nextId: next.messageId };
}

describe('a turn that the engine no longer knows', () => {
  test('is ended by an interrupt, and the queue goes on', async () => {
    const replica = await stage.replica();
    const { id, chatId, nextId } = await longTurn(replica);
    replica.engine.forget();
    expect(await replica.interrupt(chatId)).toEqual({ interrupted: true, queue: [nextId] });
    await hasEnded(replica, id, 'interrupted');
    expect((await replica.arrived(2)).id).toBe(nextId);
  });

  test('is ended by the removal of its chat', async () => {
    const replica = await stage.replica();
    const { id, chatId } = await longTurn(replica);
    replica.engine.forget();
    await replica.deleteChat(chatId);
    await hasEnded(replica, id, 'interrupted');
  });

  test('fails by itself within a minute, and the queue goes on', async () => {
    const replica = await stage.replica();
    const { id, nextId } = await longTurn(replica);
    replica.engine.forget();
    await stage.everyMinute();
    await hasEnded(replica, id, 'failed');
    expect((await messageOf(replica, id))?.error).toBe("The agent's work on this message was lost.");
    expect((await replica.arrived(2)).id).toBe(nextId);
  });

  test('ends as the engine said when that was on its way', async () => {
    for (const end of ['interrupt', 'check'] as const) {
      const replica = await stage.replica();
      const { id, chatId, turn } = await longTurn(replica);
      const taken = Promise.withResolvers<void>();
      const payload = { turnId: turn.id, chatId, outcome: 'completed', error: null } as const;
      const ended = replica.engine.end(turn, async () => {
        await taken.promise;
        await replica.report({ type: 'turn.finished', payload });
      });
      if (end === 'interrupt') await replica.interrupt(chatId);
      else await stage.everyMinute();
      await until(async () => replica.engine.flushes > 0);
      taken.resolve();
      await ended;
      await replica.arrived(2);
      expect((await messageOf(replica, id))?.state, end).toBe('completed');
    }
  });
});

describe('a check leaves alone', () => {
  /** Whether the check has looked and left the turn running. */
  async function stays(replica: Replica, id: string): Promise<void> {
    const looked = replica.engine.looks;
    await stage.everyMinute();
    await until(async () => replica.engine.looks > looked);
    await stage.isIdle(replica.id);
    expect((await messageOf(replica, id))?.state).toBe('running');
  }

  test('a turn that the engine works on', async () => {
    const replica = await stage.replica();
    const { id } = await longTurn(replica);
    await stays(replica, id);
  });

  test('a turn of an engine that does not say what it works on', async () => {
    const replica = await stage.replica();
    const { id } = await longTurn(replica);
    replica.engine.forget();
    replica.engine.becomeOlder();
    await stays(replica, id);
  });

  test('a turn when another incarnation answers', async () => {
    const replica = await stage.replica();
    const { id } = await longTurn(replica);
    replica.engine.forget();
    replica.engine.setIncarnation(2);
    await stays(replica, id);
  });

  test('a turn whose engine cannot bring out what it said', async () => {
    const replica = await stage.replica();
    const { id } = await longTurn(replica);
    replica.engine.forget();
    replica.engine.refuseFlushes();
    await stays(replica, id);
  });

  test('a turn that was sent a moment ago', async () => {
    const replica = await stage.replica();
    const { messageId } = await replica.send('one');
    await replica.start(await replica.arrived(1));
    replica.engine.forget();
    await stage.everyMinute();
    // A turn of another replica that is lost shows that the round is over.
    const other = await stage.replica();
    const { id } = await longTurn(other);
    other.engine.forget();
    await stage.everyMinute();
    await hasEnded(other, id, 'failed');
    expect((await messageOf(replica, messageId))?.state).toBe('running');
  });
});
