import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../src/contract/error.ts';
import { openStage, type Stage, until } from './stage.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

type Replica = Awaited<ReturnType<Stage['replica']>>;

/** Small and repeatable, so that a failing run can be run again. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Works on every turn from here on as it arrives; `idle` waits for the end of those that have. */
function workOn(replica: Replica): { idle(): Promise<unknown> } {
  const ended: Promise<void>[] = [];
  replica.engine.onArrival((turn) => {
    ended.push(replica.start(turn).then(() => replica.finish(turn)));
  });
  return { idle: () => Promise.all(ended) };
}

const isDone = (replica: Replica) =>
  until(async () => {
    const open = (await replica.messages()).filter(({ state }) => state === 'queued' || state === 'running');
    return open.length === 0;
  });

/** A message may leave the queue between the look at it and the change of it. */
async function unlessGone(change: Promise<unknown>): Promise<void> {
  await change.catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
  });
}

describe('many clients at once', () => {
  test('messages of several chats are each worked on once and in order', async () => {
    const replica = await stage.replica();
    const chats = await Promise.all(
      Array.from({ length: 8 }, () =>
        replica.held((tx, row) =>
          stage.chats.create(tx, replica.caller, {
            id: row.id,
            isStrict: false,
            provider: 'claude',
            title: null,
          }),
        ),
      ),
    );
    const worker = workOn(replica);
    const accepted = await Promise.all(
      chats.flatMap(({ id }) => Array.from({ length: 6 }, (_, n) => replica.send(`${n}`, { chat_id: id }))),
    );
    await isDone(replica);
    await worker.idle();
    const arrivals = replica.engine.arrivals;
    expect(arrivals.map(({ id }) => id).toSorted()).toEqual(
      accepted.map(({ messageId }) => messageId).toSorted(),
    );
    // Ids grow with the order in which messages were accepted.
    for (const { id } of chats) {
      const ofChat = arrivals.filter(({ chatId }) => chatId === id).map((turn) => turn.id);
      expect(ofChat).toEqual(ofChat.toSorted());
    }
    expect(new Set((await replica.messages()).map(({ state }) => state))).toEqual(new Set(['completed']));
  });

  test('sending, moving, removing, clearing, interrupting and starting lose and double nothing', async () => {
    const replica = await stage.replica();
    const worker = workOn(replica);
    const { chatId, messageId } = await replica.send('first');
    const accepted = [messageId];
    const seenWaiting: boolean[] = [];

    async function client(seed: number): Promise<void> {
      const random = randomOf(seed);
      for (let step = 0; step < 12; step++) {
        const arrived = new Set(replica.engine.arrivals.map(({ id }) => id));
        const { queue } = await replica.queue(chatId);
        seenWaiting.push(queue.some(({ id }) => arrived.has(id)));
        const picked = queue[random(queue.length)]?.id;
        const action = random(10);
        if (action < 5 || !picked) {
          accepted.push((await replica.send(`${seed}/${step}`, { chat_id: chatId })).messageId);
        } else if (action < 8) {
          await unlessGone(replica.reorder(chatId, picked, random(queue.length + 2)));
        } else if (action === 8) {
          await unlessGone(replica.remove(chatId, picked));
        } else if (random(4) === 0) {
          await replica.clear(chatId);
        } else {
          await replica.interrupt(chatId);
        }
        if (random(6) === 0) replica.engine.breakOffOnce();
      }
    }

    await Promise.all(Array.from({ length: 8 }, (_, n) => client(n + 1)));
    await isDone(replica);
    await worker.idle();
    const arrivals = replica.engine.arrivals.map(({ id }) => id);
    expect(new Set(arrivals).size).toBe(arrivals.length);
    expect(seenWaiting).not.toContain(true);
    const messages = await replica.messages();
    expect(messages.map(({ id }) => id)).toEqual(accepted.toSorted());
    for (const { id, state } of messages) {
      // What an interrupt catches before the engine has it ends without one.
      if (state === 'completed') expect(arrivals).toContain(id);
      else expect(arrivals).not.toContain(id);
    }
    const said = (await replica.history()).entries.map(({ message_id }) => message_id);
    expect(new Set(said).size).toBe(said.length);
  });

  test('moves that race each other leave every message in the queue once', async () => {
    const replica = await stage.replica('preparing');
    const sent = await Promise.all(Array.from({ length: 12 }, (_, n) => replica.send(`${n}`)));
    const chatId = sent[0]?.chatId ?? '';
    const random = randomOf(7);
    const moves = Array.from({ length: 40 }, () =>
      replica.reorder(chatId, sent[random(12)]?.messageId ?? '', random(14)),
    );
    for (const { queue } of await Promise.all(moves)) expect(queue).toHaveLength(12);
    const { queue } = await replica.queue(chatId);
    expect(queue.map(({ id }) => id).toSorted()).toEqual(sent.map(({ messageId }) => messageId).toSorted());
    expect(new Set(queue.map(({ position }) => position)).size).toBe(12);
  });

  test('a message is removed by one of many', async () => {
    const replica = await stage.replica('preparing');
    const { chatId, messageId } = await replica.send('one');
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, () => replica.remove(chatId, messageId)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('clients that write at once to a replica without a chat share one', async () => {
    const replica = await stage.replica('preparing');
    const sent = await Promise.all(Array.from({ length: 8 }, (_, n) => replica.send(`${n}`)));
    expect(new Set(sent.map(({ chatId }) => chatId)).size).toBe(1);
    expect(sent.map(({ position }) => position).toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
