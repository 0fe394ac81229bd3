import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { transact } from '../../src/db/transact.ts';
import { commit, openPullRequestStage, type PullRequestStage, type Workspace } from './stage.ts';

let stage: PullRequestStage;
beforeAll(async () => {
  stage = await openPullRequestStage();
});
beforeEach(() => {
  for (const list of [stage.api.pulls, stage.api.calls]) list.length = 0;
  stage.api.closed.clear();
});
afterAll(() => stage?.close());

const theirs = { head: 'work', base: 'main', title: 'Frogs', body: '', isDraft: false };
const lookJobs = ({ id }: Workspace, cause = 'push') => stage.takeJobs(`pull_request.look:${cause}:${id}`);

describe.each(['github', 'gitlab'] as const)('what a replica pushes to %s', (kind) => {
  test('leads to the pull requests that come from it, however they were opened', async () => {
    const replica = await stage.workspace({ kind });
    await replica.push('work', commit(1));
    await replica.look();
    expect(await replica.pulls()).toEqual([]);
    stage.api.pulls.push({ ...theirs, number: 41 }, { ...theirs, number: 42, base: 'next' });
    await replica.look();
    await replica.look();
    expect(await replica.pulls()).toMatchObject([
      { number: 41, branch: 'work', state: 'open', head_commit: 'a'.repeat(40), message_id: null },
      { number: 42, branch: 'work' },
    ]);
    const news = (await replica.events()).filter(({ type }) => type === 'repo.status.changed');
    expect(news).toHaveLength(2);
    expect(news[1]?.payload).toMatchObject({
      repos: [{ pr_urls: [expect.any(String), expect.any(String)] }],
    });
  });

  test('is not asked for again once its pull request is known', async () => {
    const replica = await stage.workspace({ kind });
    await replica.push('work', commit(1));
    stage.api.pulls.push({ ...theirs, number: 1 });
    await replica.look();
    const asked = stage.api.calls.length;
    await replica.look();
    expect(stage.api.calls).toHaveLength(asked);
    await replica.push('work', commit(2));
    expect(await replica.pulls()).toMatchObject([{ head_commit: commit(2) }]);
  });
});

describe('a push', () => {
  test('is looked at at once, after ten seconds and after a minute', async () => {
    const replica = await stage.workspace();
    await replica.push('work', commit(1));
    for (const [step, seconds] of [0, 10, 60].entries()) {
      expect(await lookJobs(replica)).toMatchObject([{ payload: { step }, seconds }]);
      await replica.look('push', step);
    }
    expect(await lookJobs(replica)).toEqual([]);
  });

  test('is looked at at once, also while an earlier one waits to be looked at again', async () => {
    const replica = await stage.workspace();
    await replica.push('work', commit(1));
    await lookJobs(replica);
    await replica.look('push', 0);
    await replica.push('work', commit(2));
    expect(await lookJobs(replica)).toMatchObject([{ payload: { step: 0 }, seconds: 0 }]);
  });

  test('of the default branch, of a tag or of something odd is nothing to track', async () => {
    const replica = await stage.workspace();
    await replica.push('main', commit(1));
    await replica.push('v1', commit(1), 'refs/tags/v1');
    await replica.push('x'.repeat(300), commit(1));
    expect(await lookJobs(replica)).toEqual([]);
    await replica.push('gone', commit(1));
    await replica.push('gone', '0'.repeat(40));
    expect(await branches(replica)).toEqual([]);
  });

  test('of very many branches is tracked within bounds', async () => {
    const replica = await stage.workspace();
    const refs = Array.from({ length: 500 }, (_, index) => ({
      ref: `refs/heads/b${index}`,
      oldCommit: '0'.repeat(40),
      newCommit: commit(1),
    }));
    const { identity, repositoryId } = replica;
    for (const part of [refs.slice(0, 50), refs.slice(50, 100), refs.slice(100)])
      await stage.pullRequests.tracking.onPushed({ identity, repositoryId, refs: part });
    expect(await branches(replica)).toHaveLength(100);
    await replica.look();
    expect(stage.api.calls).toHaveLength(10);
  });

  test('to a host in trouble is looked at again later', async () => {
    const replica = await stage.workspace();
    await replica.push('work', commit(1));
    await lookJobs(replica);
    stage.api.answerNext({ status: 500, body: {} });
    await replica.look();
    expect(await lookJobs(replica)).toMatchObject([{ payload: { step: 1 } }]);
    expect(await replica.pulls()).toEqual([]);
  });

  test('of a sandbox that is no replica, or of one that is gone, changes nothing', async () => {
    const replica = await stage.workspace({ state: 'deleted' });
    await replica.push('work', commit(1));
    const { repositoryId } = replica;
    const identity = { sandboxId: replica.id, organizationId: replica.id, replicaId: null } as never;
    await stage.pullRequests.tracking.onPushed({ identity, repositoryId, refs: [] });
    expect(await branches(replica)).toEqual([]);
  });
});

describe('a contact', () => {
  const contact = (replica: Workspace, ...targets: string[]) =>
    stage.pullRequests.tracking.onContacts([
      {
        replicaId: replica.id,
        organizationId: replica.caller.organizationId,
        targets: new Set(targets),
      },
    ]);

  test('with the API of a git host is followed by a look within a second', async () => {
    for (const target of ['api.github.com:443', 'gitlab.com:443', stage.api.host]) {
      const replica = await stage.workspace();
      await replica.push('work', commit(1));
      await contact(replica, 'packages.example.com:443');
      expect(await lookJobs(replica, 'contact')).toEqual([]);
      await contact(replica, 'packages.example.com:443', target);
      expect(await lookJobs(replica, 'contact')).toMatchObject([{ payload: { step: 0 }, seconds: 1 }]);
    }
  });

  test('without a branch that could have one is not looked at', async () => {
    const idle = await stage.workspace();
    await contact(idle, stage.api.host);
    const done = await stage.workspace();
    await done.withPull();
    await contact(done, stage.api.host);
    expect([await lookJobs(idle, 'contact'), await lookJobs(done, 'contact')]).toEqual([[], []]);
  });
});

describe('an event of a git host', () => {
  test('tells of a pull request that comes from a pushed branch, and of no other', async () => {
    const replica = await stage.workspace();
    await replica.push('work', commit(1));
    await replica.pullEvent('open', 5, 2, 'theirs');
    await replica.pullEvent('merged', 5, 3);
    expect(await replica.pulls()).toEqual([]);
    await replica.pullEvent('open', 5);
    await replica.pullEvent('open', 5);
    expect(await replica.pulls()).toMatchObject([{ number: 1, branch: 'work', head_commit: commit(1) }]);
  });

  test('changes nothing when a later one came before it', async () => {
    const replica = await stage.workspace({ config: { preferences: { keep_open_on_pr_merge: true } } });
    await replica.withPull();
    await replica.pullEvent('closed', 9);
    await replica.pullEvent('open', 8);
    expect(await replica.pulls()).toMatchObject([{ state: 'closed' }]);
    await replica.pullEvent('open', 10);
    expect(await replica.pulls()).toMatchObject([{ state: 'open' }]);
    await replica.pullEvent('merged', 11);
    await replica.pullEvent('open', 12);
    expect(await replica.pulls()).toMatchObject([{ state: 'merged' }]);
  });

  test('reaches the replica that pushed a branch last, after many that are gone or did so before', async () => {
    const { db } = stage;
    const replica = await stage.workspace();
    const { organizationId } = replica.caller;
    const pushed = { repository_id: replica.repositoryId, branch: 'work', head_commit: commit(1) };
    const early = Array.from({ length: 120 }, (_, index) => ({
      // Ids grow with time.
      id: `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`,
      state: index % 2 === 0 ? 'deleted' : 'sleeping',
    }));
    const { sandbox_id: _sandbox, ...like } = await replica.row();
    const rows = early.map((each) => ({ ...like, ...each, config: '{}', organization_id: organizationId }));
    await db
      .insertInto('replica')
      .values(rows as never)
      .execute();
    await db
      .insertInto('replica_branch')
      .values(early.map(({ id }) => ({ ...pushed, replica_id: id, pushed_at: new Date() })))
      .execute();
    await replica.push('work', commit(1));
    await replica.pullEvent('open', 5);
    expect(await replica.pulls()).toMatchObject([{ number: 1 }]);
    const ids = early.map(({ id }) => id);
    await db.deleteFrom('replica').where('id', 'in', ids).execute();
  });

  test('is nothing to a replica of another organization with the same repository', async () => {
    const [one, two] = [await stage.workspace(), await stage.workspace()];
    for (const replica of [one, two]) await replica.push('work', commit(1));
    await one.pullEvent('open', 5);
    expect([await one.pulls(), await two.pulls()]).toMatchObject([[{ number: 1 }], []]);
  });
});

test('a pull request is told by the first turn that ends after it was found, and by no other', async () => {
  const replica = await stage.workspace();
  await replica.send('push something');
  const first = await replica.arrived(1);
  await replica.start(first);
  await replica.withPull();
  await replica.finish(first);
  await replica.pullEvent('open', 5, 2);
  await replica.send('go on');
  const second = await replica.arrived(2);
  await replica.start(second);
  await replica.finish(second);
  const ends = (await replica.events()).filter(({ type }) => type === 'chat.turn.completed');
  expect(ends.map(({ payload }) => (payload as { pr_urls: string[] }).pr_urls)).toEqual([
    ['https://github.test.example/team/app/pull/1'],
    ['https://github.test.example/team/app/pull/2'],
  ]);
});

test('a pull request is told once when turns of two chats end at the same time', async () => {
  const replica = await stage.workspace();
  const ids: string[] = [];
  for (const _ of ['first', 'second']) {
    const wanted = { id: replica.id, isStrict: false, provider: 'claude', title: null } as const;
    ids.push((await transact(stage.db, (tx) => stage.chats.create(tx, replica.caller, wanted))).id);
  }
  for (const chat_id of ids) await replica.send('work', { chat_id });
  const turns = [await replica.arrived(1), await replica.arrived(2)];
  for (const turn of turns) await replica.start(turn);
  await replica.withPull();
  await Promise.all(turns.map((turn) => replica.finish(turn)));
  const ends = (await replica.events()).filter(({ type }) => type === 'chat.turn.completed');
  const told = ends.map(({ payload }) => (payload as { pr_urls: string[] }).pr_urls.length);
  expect(told.toSorted()).toEqual([0, 1]);
});

test('a token of an app that the host has revoked is made anew, once', async () => {
  const { api, db } = stage;
  const replica = await stage.workspace({ hasApp: true });
  const workspace = { organizationId: replica.caller.organizationId, replicaId: replica.id };
  await replica.push('work', commit(1));
  await replica.look();
  api.pulls.push({ ...theirs, number: 1 });
  api.apps.revokeAll();
  await db
    .updateTable('installation_token')
    .set({ made_at: new Date(0) })
    .execute();
  await replica.look();
  expect(await replica.pulls()).toMatchObject([{ number: 1 }]);
  api.apps.revokeAll();
  const comment = { repository: null, number: 1, body: 'Done.' };
  const write = () => stage.pullRequests.comment(workspace, comment, AbortSignal.timeout(9_000));
  // The host has just given the token that it refuses: another one would fare no better.
  await expect(write()).rejects.toThrow('refused the token');
  await db
    .updateTable('installation_token')
    .set({ made_at: new Date(0) })
    .execute();
  expect((await write()).url).toContain('/pull/1#');
  expect(api.apps.made()).toBe(3);
});

function branches({ id }: Workspace) {
  return stage.db.selectFrom('replica_branch').select('branch').where('replica_id', '=', id).execute();
}
