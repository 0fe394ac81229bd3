import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commit, openPullRequestStage, type PullRequestStage, type Workspace } from './stage.ts';

let stage: PullRequestStage;
beforeAll(async () => {
  stage = await openPullRequestStage();
});
afterAll(() => stage?.close());

const state = async (replica: Workspace) => (await replica.row()).state;
const closing = async (replica: Workspace) => (await replica.row()).closes_when_idle;

/** A replica that works on a message. */
async function busy(wanted: Parameters<PullRequestStage['workspace']>[0] = {}) {
  const replica = await stage.workspace(wanted);
  await replica.send('work');
  const turn = await replica.arrived(1);
  await replica.start(turn);
  return { replica, turn };
}

describe.each(['merged', 'closed'] as const)('when the last pull request of a replica is %s', (end) => {
  test('the replica is archived', async () => {
    const replica = await stage.workspace();
    await replica.withPull();
    await replica.pullEvent(end, 9);
    expect(await state(replica)).toBe('archiving');
    expect(await replica.pulls()).toMatchObject([{ state: end }]);
  });

  test('a replica that sleeps is archived without being woken', async () => {
    const replica = await stage.workspace({ state: 'sleeping' });
    await replica.withPull();
    await replica.pullEvent(end, 9);
    expect(await state(replica)).toBe('archived');
  });

  test('a replica that shall stay open does', async () => {
    const replica = await stage.workspace({ config: { preferences: { keep_open_on_pr_merge: true } } });
    await replica.withPull();
    await replica.pullEvent(end, 9);
    expect([await state(replica), await closing(replica)]).toEqual(['active', false]);
  });

  test('a replica that works is archived when its turn has ended', async () => {
    const { replica, turn } = await busy();
    await replica.withPull();
    await replica.pullEvent(end, 9);
    expect([await state(replica), await closing(replica)]).toEqual(['active', true]);
    await replica.finish(turn);
    expect(await state(replica)).toBe('archiving');
  });
});

test('a replica with another open pull request stays', async () => {
  const replica = await stage.workspace();
  await replica.withPull();
  await replica.pullEvent('open', 2, 2);
  await replica.pullEvent('merged', 3);
  expect(await state(replica)).toBe('active');
  await replica.pullEvent('closed', 4, 2);
  expect(await state(replica)).toBe('archiving');
});

test('what waits in the queue is worked off before', async () => {
  const { replica, turn } = await busy();
  await replica.withPull();
  await replica.send('and more');
  await replica.pullEvent('merged', 9);
  await replica.finish(turn);
  expect(await state(replica)).toBe('active');
  await replica.finish(await replica.arrived(2));
  expect(await state(replica)).toBe('archiving');
});

test('a new message keeps a replica open that was about to close', async () => {
  const { replica, turn } = await busy();
  await replica.withPull();
  await replica.pullEvent('merged', 9);
  await replica.send('one more thing');
  expect(await closing(replica)).toBe(false);
  await replica.finish(turn);
  await replica.finish(await replica.arrived(2));
  expect(await state(replica)).toBe('active');
});

test('a new pull request keeps it open as well, and so does one that is opened again', async () => {
  for (const [number, second] of [
    [2, 10],
    [1, 10],
  ] as const) {
    const { replica, turn } = await busy();
    await replica.withPull();
    await replica.pullEvent('closed', 9);
    await replica.pullEvent('open', second, number);
    await replica.finish(turn);
    expect([await state(replica), await closing(replica)]).toEqual(['active', false]);
  }
});

test('a replica that is put to sleep while it should close is archived', async () => {
  const { replica } = await busy();
  await replica.withPull();
  await replica.pullEvent('merged', 9);
  await replica.held(async (tx, row) => {
    const falling = await stage.replicas.request(tx, row, 'sleep');
    const asleep = await stage.replicas.report(tx, falling, 'suspended');
    if (asleep) await stage.chats.onSuspended(tx, asleep);
  });
  expect(await state(replica)).toBe('archived');
});

test('a replica that is being made closes after its first turn', async () => {
  const replica = await stage.workspace({ state: 'preparing' });
  await replica.withPull();
  await replica.pullEvent('merged', 9);
  expect([await state(replica), await closing(replica)]).toEqual(['preparing', true]);
});

test('what is told of a replica that is gone or has failed changes nothing', async () => {
  for (const gone of ['deleting', 'deleted', 'failed', 'archived'] as const) {
    const replica = await stage.workspace();
    await replica.withPull();
    await stage.db.updateTable('replica').set({ state: gone }).where('id', '=', replica.id).execute();
    await replica.pullEvent('merged', 9);
    await replica.say({ text: 'Hello?' });
    await replica.tell();
    expect([await state(replica), await replica.messages()]).toEqual([gone, []]);
  }
});

test('of a merge and a message at the same time none is lost', async () => {
  for (let round = 0; round < 8; round++) {
    const { replica, turn } = await busy();
    await replica.push('work', commit(1));
    await replica.pullEvent('open', 1);
    await Promise.all([replica.pullEvent('merged', 9), replica.finish(turn), replica.send('something else')]);
    const [, second] = await replica.messages();
    // Either the message came first and the replica goes on, or it wakes the replica that was archived.
    const { state: now } = await replica.row();
    expect(['active/running', 'waking/queued', 'active/queued']).toContain(`${now}/${second?.state}`);
    expect(await replica.pulls()).toMatchObject([{ state: 'merged' }]);
  }
});
