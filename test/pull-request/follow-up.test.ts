import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MAX_MESSAGES_A_DAY } from '../../src/pull-request/follow-up.ts';
import { commit, openPullRequestStage, type PullRequestStage, type Workspace } from './stage.ts';

let stage: PullRequestStage;
beforeAll(async () => {
  stage = await openPullRequestStage();
});
beforeEach(() => stage.moveClock(0));
afterAll(() => stage?.close());

const comment = (number: number, text = `Comment ${number}`) => ({
  text,
  url: `https://github.test.example/team/app/pull/1#issuecomment-${number}`,
});
const texts = async (replica: Workspace) => (await replica.messages()).map(({ text }) => text);
const followUpJobs = async (replica: Workspace) => {
  const [pull] = await replica.pulls();
  return stage.takeJobs(`pull_request.follow_up:${pull?.id}`);
};

/** A replica with a pull request, of which nothing was said yet. */
async function tracked(wanted: Parameters<PullRequestStage['workspace']>[0] = {}) {
  const replica = await stage.workspace(wanted);
  await replica.withPull();
  return replica;
}

/** Lets the turn that runs end. */
async function work(replica: Workspace, count: number): Promise<void> {
  const turn = await replica.arrived(count);
  await replica.start(turn);
  await replica.finish(turn);
}

describe('what is said of a tracked pull request', () => {
  test('is gathered for ten seconds and then told in one message of the service', async () => {
    const replica = await tracked();
    await replica.say(
      { kind: 'check', key: 'build@1', text: 'build has failed', url: 'https://ci.example/1' },
      { commit: commit(1) },
    );
    await replica.say(comment(1));
    await replica.say({ kind: 'review', text: 'ada requested changes' });
    expect(await followUpJobs(replica)).toMatchObject([{ seconds: 10 }]);
    expect(await replica.messages()).toEqual([]);
    await replica.tell();
    await replica.tell();
    const [message, ...others] = await replica.messages();
    expect(others).toEqual([]);
    expect(message?.sender).toMatchObject({ userId: null, displayName: 'Service bot' });
    for (const part of [
      '#1',
      'build has failed\n\nhttps://ci.example/1',
      'Comment 1',
      'ada requested changes',
    ])
      expect(message?.text).toContain(part);
  });

  test('is told once, however often and in which order it comes', async () => {
    const replica = await tracked();
    for (const number of [1, 2, 1, 2, 1]) await replica.say(comment(number));
    await replica.tell();
    await replica.say(comment(2));
    await replica.tell();
    const [text = '', ...others] = await texts(replica);
    expect(others).toEqual([]);
    expect(text.split('Comment 1')).toHaveLength(2);
  });

  test('wakes the replica', async () => {
    for (const asleep of ['sleeping', 'archived'] as const) {
      const replica = await tracked({ state: asleep });
      await replica.say(comment(1));
      await replica.tell();
      expect(await replica.row()).toMatchObject({ state: 'waking' });
      expect(await replica.messages()).toMatchObject([{ state: 'queued' }]);
    }
  });

  test('is added to the message that still waits, and begins another when that is in work', async () => {
    const replica = await tracked();
    await replica.send('something long');
    await replica.start(await replica.arrived(1));
    for (const number of [1, 2, 3]) {
      await replica.say(comment(number));
      await replica.tell();
    }
    const [, told, ...none] = await replica.messages();
    expect(none).toEqual([]);
    expect(told).toMatchObject({ state: 'queued' });
    for (const number of [1, 2, 3]) expect(told?.text).toContain(`Comment ${number}`);
    await replica.finish(await replica.arrived(1));
    await replica.arrived(2);
    await replica.say(comment(4));
    await replica.tell();
    const all = await texts(replica);
    expect(all).toHaveLength(3);
    expect(all[2]).toContain('Comment 4');
    expect(all[2]).not.toContain('Comment 3');
    const history = await replica.history();
    expect(JSON.stringify(history)).toContain('Comment 3');
  });

  test('wakes the replica also when the message that it is added to has waited since before it slept', async () => {
    const replica = await tracked();
    await replica.send('something long');
    await replica.start(await replica.arrived(1));
    await replica.say(comment(1));
    await replica.tell();
    await replica.held(async (tx, row) => {
      const falling = await stage.replicas.request(tx, row, 'sleep');
      const asleep = await stage.replicas.report(tx, falling, 'suspended');
      if (asleep) await stage.chats.onSuspended(tx, asleep);
    });
    await replica.say(comment(2));
    await replica.tell();
    expect(await replica.row()).toMatchObject({ state: 'waking' });
    const [, told, ...none] = await replica.messages();
    expect([told?.state, none]).toEqual(['queued', []]);
    expect(told?.text).toContain('Comment 2');
  });

  test('waits in bounds when it is much, and none of it is lost', async () => {
    const replica = await tracked();
    await replica.send('something long');
    await replica.start(await replica.arrived(1));
    for (let number = 0; number < 30; number++)
      await replica.say(comment(number, `Comment ${number}. ${'x'.repeat(20_000)}`));
    for (const _ of ['first', 'second', 'third']) await replica.tell();
    const [, told] = await replica.messages();
    expect(Buffer.byteLength(told?.text ?? '')).toBeLessThan(140_000);
    expect(await followUpJobs(replica)).toHaveLength(1);
    await replica.finish(await replica.arrived(1));
    for (const count of [2, 3]) {
      await replica.arrived(count);
      await replica.tell();
      await replica.tell();
      await work(replica, count);
    }
    const all = (await texts(replica)).join('');
    const missing = Array.from({ length: 30 }, (_, number) => number).filter(
      (number) => !all.includes(`Comment ${number}.`),
    );
    expect(missing).toEqual([]);
  });

  test('is not told more than twenty times a day; the rest is told the next day in one message', async () => {
    const replica = await tracked();
    for (let number = 1; number <= MAX_MESSAGES_A_DAY; number++) {
      await replica.say(comment(number));
      await replica.tell();
      await work(replica, number);
    }
    await followUpJobs(replica);
    for (const number of [101, 102]) {
      await replica.say(comment(number));
      await followUpJobs(replica);
      await replica.tell();
    }
    expect(await replica.messages()).toHaveLength(MAX_MESSAGES_A_DAY);
    const [job] = await followUpJobs(replica);
    expect(job?.seconds).toBeGreaterThan(0);
    expect(job?.seconds).toBeLessThanOrEqual(86_400);
    stage.moveClock(86_400_000);
    await replica.tell();
    const [last, ...others] = (await texts(replica)).slice(MAX_MESSAGES_A_DAY);
    expect(others).toEqual([]);
    for (const number of [101, 102]) expect(last).toContain(`Comment ${number}`);
  });
});

describe('nothing is told', () => {
  const quiet = async (replica: Workspace) => {
    await replica.tell();
    expect(await replica.messages()).toEqual([]);
  };

  test('of what the replica has written itself, whether the host tells of it early or late', async () => {
    const { api, pullRequests } = stage;
    const replica = await tracked();
    api.pulls.push({ number: 1, head: 'work', base: 'main', title: '', body: '', isDraft: false });
    const workspace = { organizationId: replica.caller.organizationId, replicaId: replica.id };
    const write = () =>
      pullRequests.comment(
        workspace,
        { repository: null, number: 1, body: 'Done.' },
        AbortSignal.timeout(9_000),
      );
    const { url } = await write();
    await replica.say({ text: 'Done.', url, key: url });
    const next = url.replace(/\d+$/, (id) => String(Number(id) + 1));
    await replica.say({ text: 'Done.', url: next, key: next });
    expect((await write()).url).toBe(next);
    await quiet(replica);
  });

  test('of a check on a commit that is not the head any more', async () => {
    const replica = await tracked();
    const failed = { kind: 'check', key: 'build@1', text: 'build has failed' } as const;
    await replica.push('work', commit(2));
    await replica.say(failed, { commit: commit(1) });
    await quiet(replica);
    await replica.say({ ...failed, key: 'build@2' }, { numbers: [], branch: 'work', commit: commit(2) });
    await replica.tell();
    expect(await replica.messages()).toHaveLength(1);
  });

  test.each([
    ['where follow-ups are off', { config: { capabilities: { pr_followups: false } } }],
    ['where an automation has made the replica', { source: 'automation' }],
  ])('%s', async (_name, wanted) => {
    const replica = await tracked(wanted);
    await replica.say(comment(1));
    await quiet(replica);
  });

  test('of a pull request that is merged before it could be told', async () => {
    const replica = await tracked({ config: { preferences: { keep_open_on_pr_merge: true } } });
    await replica.say(comment(1));
    await replica.pullEvent('merged', 9);
    await replica.say(comment(2));
    await quiet(replica);
  });

  test('of other pull requests', async () => {
    const replica = await tracked();
    await replica.say(comment(1), { numbers: [2] });
    await replica.say({ kind: 'check', text: 'x' }, { numbers: [], branch: 'main', commit: commit(7) });
    await quiet(replica);
  });
});

test('an automation that asks for follow-ups gets them', async () => {
  const config = { capabilities: { pr_followups: true } };
  const replica = await tracked({ source: 'automation', config });
  await replica.say(comment(1));
  await replica.tell();
  expect(await replica.messages()).toHaveLength(1);
});
