import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { insertReplica } from '../chat/replica-row.ts';
import { recordedAt } from '../world/github-event.ts';
import { mergeRequestEvent, noteEvent, pushEvent } from '../world/gitlab-event.ts';
import { type GitEventStage, type Home, host, setHost, startGitEventStage } from './git-event-stage.ts';

let stage: GitEventStage;
let home: Home;
beforeAll(async () => {
  stage = await startGitEventStage();
});
beforeEach(async () => {
  home = await stage.organization();
});
afterAll(() => stage?.close());

const OPENED = 'pull_request.opened';

/** The automations that have run, by what they were called here. */
async function runsOf<Name extends string>(automations: Record<Name, string>): Promise<Name[]> {
  await stage.kept();
  const counts = await Promise.all(
    Object.entries<string>(automations).map(
      async ([name, id]) => [name, (await home.list(id)).length] as const,
    ),
  );
  for (const [name, count] of counts) expect(count, name).toBeLessThan(2);
  return counts.filter(([, count]) => count === 1).map(([name]) => name as Name);
}

describe('an automation listens', () => {
  test('to its event, while it is on', async () => {
    const automations = {
      listening: await home.listenTo(OPENED),
      elsewhere: await home.listenTo('pull_request.closed'),
      off: await home.listenTo(OPENED, {}, { enabled: false }),
      lab: await home.create({ triggers: [{ type: 'gitlab', config: { event: 'merge_request.opened' } }] }),
    };
    await home.tell('pull_request', 'opened');
    expect(await runsOf(automations)).toEqual(['listening']);
  });

  test('to its repositories, or else to those of its environment', async () => {
    const other = await home.connect(`https://${host}/acme/${randomUUID()}.git`);
    const environment = async (binding: object) => {
      const body = { name: randomUUID(), ...binding };
      return (await home.org.call('POST', '/v1/environments', body)).body.environment.id;
    };
    const set = await home.org.call('POST', '/v1/repository-sets', {
      name: randomUUID(),
      repository_ids: [other, home.repositoryId],
    });
    const here = await environment({ repository_id: home.repositoryId });
    const away = await environment({ repository_id: other });
    const both = await environment({ repository_set_id: set.body.repository_set.id });
    const automations = {
      named: await home.listenTo(OPENED, { repository_ids: [other, home.repositoryId] }),
      'named another': await home.listenTo(OPENED, { repository_ids: [other] }),
      bound: await home.listenTo(OPENED, {}, { environment_id: here }),
      'bound to another': await home.listenTo(OPENED, {}, { environment_id: away }),
      'bound to a set': await home.listenTo(OPENED, {}, { environment_id: both }),
      'named, though bound to another': await home.listenTo(
        OPENED,
        { repository_ids: [home.repositoryId] },
        { environment_id: away },
      ),
    };
    await home.tell('pull_request', 'opened');
    expect(await runsOf(automations)).toEqual([
      'named',
      'bound',
      'bound to a set',
      'named, though bound to another',
    ]);
  });

  test('to everybody but those it excludes', async () => {
    const automations = {
      everybody: await home.listenTo(OPENED),
      others: await home.listenTo(OPENED, { excluded_actors: ['somebody'] }),
      excluded: await home.listenTo(OPENED, { excluded_actors: ['codertocat'] }),
    };
    await home.tell('pull_request', 'opened');
    expect(await runsOf(automations)).toEqual(['everybody', 'others']);
  });

  test('to its command in a comment on a pull request, and runs once also when it listens to comments', async () => {
    const event = 'pull_request.command';
    const automations = {
      usual: await home.listenTo(event),
      own: await home.listenTo(event, { command: '/fix' }),
      both: await home.create({
        triggers: ['issue_comment.created', event].map((each) => ({
          type: 'github',
          config: { event: each },
        })),
      }),
    };
    const payload = recordedAt(home.url, 'issue_comment', 'created');
    payload.issue.pull_request = { html_url: 'https://github.com/Codertocat/Hello-World/pull/1' };
    payload.comment.body = '/replica have a look';
    await home.github('issue_comment', payload);
    expect(await runsOf(automations)).toEqual(['usual', 'both']);
  });

  test('to no comment that a replica of its organization has made', async () => {
    const replicaId = await insertReplica(stage.world.db, { organizationId: home.org.id, state: 'active' });
    const url = 'https://github.com/Codertocat/Hello-World/pull/1#issuecomment-7';
    const own = { replica_id: replicaId, url, at: new Date() };
    await stage.world.db.insertInto('own_comment').values(own).execute();
    const automations = {
      comments: await home.listenTo('issue_comment.created'),
      commands: await home.listenTo('pull_request.command'),
    };
    const payload = recordedAt(home.url, 'issue_comment', 'created');
    payload.issue.pull_request = { html_url: 'https://github.com/Codertocat/Hello-World/pull/1' };
    payload.comment = { ...payload.comment, html_url: url, body: '/replica again' };
    await home.github('issue_comment', payload);
    expect(await runsOf(automations)).toEqual([]);
    payload.comment.html_url = `${url}1`;
    await home.github('issue_comment', payload);
    expect(await runsOf(automations)).toEqual(['comments', 'commands']);
  });

  test('to events of its own organization only', async () => {
    const theirs = await stage.organization();
    await theirs.connect(home.url);
    const mine = await home.listenTo(OPENED);
    const foreign = await theirs.listenTo(OPENED);
    await home.tell('pull_request', 'opened');
    await home.reach(mine, ['completed']);
    expect(await theirs.list(foreign)).toEqual([]);
    // Both organizations have given the host the same secret: the event is for both.
    await setHost(theirs.org, { host, kind: 'github', secret: home.secret });
    await home.tell('pull_request', 'opened');
    await home.reach(mine, ['completed', 'completed']);
    await theirs.reach(foreign, ['completed']);
  });

  test('to later events of a pull request in the workspace of the first', async () => {
    const id = await home.create({
      triggers: [OPENED, 'pull_request.synchronize'].map((event) => ({
        type: 'github',
        config: { event, group_pr_events: true },
      })),
    });
    await home.tell('pull_request', 'opened');
    await home.reach(id, ['completed']);
    await home.tell('pull_request', 'synchronize');
    const [first, second] = await home.reach(id, ['completed', 'completed']);
    expect(second?.workspace_id).toBe(first?.workspace_id);
    const messages = await home.messagesOf(first?.workspace_id);
    expect(messages.map((text) => /"action": "(\w+)"/.exec(text)?.[1])).toEqual(['opened', 'synchronize']);
    const another = recordedAt(home.url, 'pull_request', 'opened');
    another.pull_request.number = 3;
    await home.github('pull_request', another);
    const [, , third] = await home.reach(id, ['completed', 'completed', 'completed']);
    expect(third?.workspace_id).not.toBe(first?.workspace_id);
  });

  test('without grouping, in a workspace for each event', async () => {
    const id = await home.listenTo(OPENED);
    await home.tell('pull_request', 'opened');
    await home.tell('pull_request', 'opened');
    const [first, second] = await home.reach(id, ['completed', 'completed']);
    expect(second?.workspace_id).not.toBe(first?.workspace_id);
  });
});

describe('an event of GitLab', () => {
  const listenTo = (event: string) => home.create({ triggers: [{ type: 'gitlab', config: { event } }] });
  const on = () => ({ url: home.labUrl });

  test('sets off a run when its token is right', async () => {
    const id = await listenTo('merge_request.opened');
    const payload = mergeRequestEvent(on());
    for (const secret of ['wrong', '', `${home.secret}0`, home.secret.slice(1)])
      expect((await home.gitlab(payload, { secret })).status).toBe(401);
    const { status, body } = await home.gitlab(payload);
    expect([status, body]).toEqual([202, { accepted: true }]);
    const [execution] = await home.reach(id, ['completed']);
    expect(execution).toMatchObject({ trigger_type: 'gitlab', trigger_payload: payload });
  });

  test('counts once by its key, and without one by its UUID and what it says', async () => {
    const id = await listenTo('push');
    const delivery = randomUUID();
    await home.gitlab(pushEvent(on()), { delivery });
    await home.gitlab(pushEvent(on()), { delivery });
    await stage.kept();
    expect(await home.list(id)).toHaveLength(1);
    const headers = { 'x-gitlab-event-uuid': randomUUID() };
    await home.gitlab(pushEvent(on()), { delivery: '', headers });
    await home.gitlab(pushEvent(on()), { delivery: '', headers });
    await stage.kept();
    expect(await home.list(id)).toHaveLength(2);
    await home.gitlab(pushEvent(on(), { before: '1'.repeat(40) }), { delivery: '', headers });
    await stage.kept();
    expect(await home.list(id)).toHaveLength(3);
  });

  test.each([
    '{"object_kind":{"toString":1}}',
    '{"object_kind":"pipeline","object_attributes":{"status":{"toString":1}}}',
    '{"object_kind":"push","after":{"toString":1}}',
  ])('that is %s means nothing', async (body) => {
    const headers = { 'x-gitlab-instance': new URL(home.labUrl).origin };
    const project = `{"git_http_url":"${home.labUrl}"}`;
    const about = body.replace(/}$/, `,"project":${project}}`);
    expect((await home.gitlab(about, { headers, secret: 'wrong' })).status).toBe(401);
    const { status, body: answer } = await home.gitlab(about, { headers });
    expect([status, answer]).toEqual([202, { accepted: false }]);
  });

  test('is a note on an issue as well as on a merge request', async () => {
    const id = await listenTo('note.created');
    await home.gitlab(noteEvent(on()));
    await home.gitlab(noteEvent(on(), { isOnIssue: true }));
    await home.reach(id, ['completed', 'completed']);
  });

  test('may be of no project, or of one of a group that is not connected', async () => {
    const payload = mergeRequestEvent({ url: home.labUrl.replace('/acme/', '/other/') });
    expect((await home.gitlab(payload)).body).toEqual({ accepted: false });
    expect((await home.gitlab(payload, { secret: 'wrong' })).status).toBe(401);
    const headers = { 'x-gitlab-instance': new URL(home.labUrl).origin };
    const aboutPeople = { object_kind: 'access_token' };
    expect((await home.gitlab(aboutPeople, { headers })).body).toEqual({ accepted: false });
    expect((await home.gitlab(aboutPeople)).status).toBe(401);
  });
});
