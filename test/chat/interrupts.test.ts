import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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

describe('interrupting', () => {
  test('is tried again when the engine could not do it', async () => {
    const replica = await stage.replica();
    const { chatId, messageId } = await replica.send('one');
    const one = await replica.arrived(1);
    replica.engine.stumbleOnce();
    await replica.interrupt(chatId);
    await until(async () => replica.engine.interrupts.length === 2);
    expect(replica.engine.interrupts).toEqual([messageId, messageId]);
    await replica.finish(one, 'interrupted');
  });

  test('the engine is asked to end the turn, and the queue goes on', async () => {
    const replica = await stage.replica();
    const { chatId, messageId } = await replica.send('one');
    const waiting = await replica.send('two');
    const one = await replica.arrived(1);
    await until(async () => (await replica.messages())[0]?.sent_at !== null);
    expect(await replica.interrupt(chatId)).toEqual({ interrupted: true, queue: [waiting.messageId] });
    await until(async () => replica.engine.interrupts.includes(messageId));
    await replica.finish(one, 'interrupted');
    expect((await replica.arrived(2)).message).toBe('two');
  });

  test('a message that no engine has taken ends without one', async () => {
    const replica = await stage.replica('sleeping');
    const { chatId, messageId } = await replica.send('one');
    expect(await replica.interrupt(chatId)).toEqual({ interrupted: false, queue: [messageId] });
    await stage.db.updateTable('message').set({ state: 'running' }).where('id', '=', messageId).execute();
    await stage.db.updateTable('replica').set({ state: 'sleeping' }).where('id', '=', replica.id).execute();
    expect(await replica.interrupt(chatId)).toEqual({ interrupted: true, queue: [] });
    await hasEnded(replica, messageId, 'interrupted');
    expect(replica.engine.arrivals).toEqual([]);
  });

  test('deleting a chat removes its queue and interrupts its turn; what the engine still says of it is let go', async () => {
    const replica = await stage.replica('active', { lifecycle_policy: 'delete_when_done' });
    const { chatId, messageId } = await replica.send('one');
    await replica.send('two');
    const one = await replica.arrived(1);
    await until(async () => (await replica.messages())[0]?.sent_at !== null);
    await replica.deleteChat(chatId);
    await expect(replica.queue(chatId)).rejects.toThrow('Chat not found');
    await until(async () => replica.engine.interrupts.includes(messageId));
    await until(async () => replica.engine.forgotten.includes(chatId));
    const before = await types(replica);
    expect(before.at(-1)).toBe('chat.deleted');
    await replica.start(one);
    await replica.say(one, 'too late');
    await replica.finish(one, 'interrupted');
    expect(await states(replica)).toEqual(['interrupted', 'removed']);
    expect((await types(replica)).filter((type) => type.startsWith('chat.'))).toEqual(before);
    expect((await replica.history()).total).toBe(0);
    expect((await replica.row()).state).toBe('deleting');
  });
});

describe('the engine forgets a chat that is deleted', () => {
  test('while nothing runs in it', async () => {
    const replica = await stage.replica('active');
    const { chatId } = await replica.send('one');
    await replica.finish(await replica.arrived(1), 'completed');
    await replica.deleteChat(chatId);
    await until(async () => replica.engine.forgotten.includes(chatId));
    expect(replica.engine.interrupts).toEqual([]);
  });

  test('and one that is asleep is not woken for it', async () => {
    const replica = await stage.replica('sleeping');
    const { chatId } = await replica.send('one');
    await stage.db.updateTable('replica').set({ state: 'sleeping' }).where('id', '=', replica.id).execute();
    await replica.deleteChat(chatId);
    await stage.isIdle(replica.id);
    expect(replica.engine.forgotten).toEqual([]);
    expect((await replica.row()).state).toBe('sleeping');
  });
});
