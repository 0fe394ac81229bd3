import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { type GitHostApiStandIn, startGitHostApi } from '../world/git-host-api.ts';
import { canIsolate, createLiveReplica, type LiveReplica, startLiveWorld } from '../world/live.ts';
import { type Organization, until, type World } from '../world/world.ts';

const OWN_TOKEN = 'token-that-the-agent-was-given';

describe.skipIf(!canIsolate)('pull requests of a replica in a real sandbox', () => {
  let everything: AsyncDisposableStack;
  let world: World;
  let org: Organization;
  let host: GitHost;
  let api: GitHostApiStandIn;
  let environment_id: string;

  beforeAll(async () => {
    await using starting = new AsyncDisposableStack();
    host = await startGitHost();
    starting.defer(() => host.close());
    api = await startGitHostApi({ token: OWN_TOKEN });
    starting.defer(() => api.close());
    const key = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    api.apps.install('12345', key.publicKey);
    // The first token that the app is given is the only one with which git is served.
    const auth = { username: 'x-access-token', password: 'ghs_standin1' };
    await host.createRepository('team/app', { 'README.md': 'hello\n' }, { auth });
    world = await startLiveWorld();
    starting.defer(() => world.close());
    org = await world.org();
    const gitHost = new URL(host.url('')).host;
    await org.call('PUT', `/v1/organization/git-hosts/${gitHost}`, {
      kind: 'github',
      api_url: api.githubUrl,
    });
    const { body: made } = await org.call('POST', '/v1/repository-credentials', {
      kind: 'github_app',
      name: 'app',
      app_id: '12345',
      private_key: key.privateKey.export({ type: 'pkcs1', format: 'pem' }),
    });
    const { body: connected } = await org.call('POST', '/v1/repositories', {
      url: host.url('team/app'),
      credential_id: made.credential.id,
    });
    const { id } = connected.repository;
    await until(
      async () => (await org.call('GET', `/v1/repositories/${id}`)).body.repository.status === 'ready',
    );
    const bound = await org.call('POST', '/v1/environments', { name: 'app', repository_id: id });
    environment_id = bound.body.environment.id;
    await org.call('PUT', `/v1/environments/${environment_id}/egress`, {
      mode: 'allowlist',
      hosts: [api.host],
    });
    everything = starting.move();
  }, 60_000);
  afterAll(() => everything?.disposeAsync());

  const push = (branch: string) =>
    `cd ~/workspaces/app && git checkout -q -b ${branch} && git commit -q --allow-empty -m ${branch} && git push -q origin ${branch} 2>&1; echo $?`;
  const shown = async ({ id }: LiveReplica) => (await org.call('GET', `/v1/replica/${id}`)).body.replica;
  const found = (replica: LiveReplica) =>
    until(async () => {
      const { pull_requests } = await shown(replica);
      return pull_requests.length > 0 && pull_requests;
    });

  it('are found when the agent has opened them with a token of its own', async () => {
    const replica = await createLiveReplica({ world, org }, { environment_id });
    api.branches.add('with-curl');
    expect((await replica.run(push('with-curl'))).output).toBe('0\n');
    // The look that follows a push has found nothing by now.
    await until(() => api.calls.some(({ line }) => line.includes('head=team%3Awith-curl')));
    const body = JSON.stringify({ head: 'with-curl', base: 'main', title: 'Frogs', body: '', draft: false });
    const opened = await replica.run(
      `curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x "$http_proxy" -H 'authorization: Bearer ${OWN_TOKEN}' -d '${body}' ${api.githubUrl}/repos/team/app/pulls`,
    );
    expect(opened.output).toBe('201');
    expect(await found(replica)).toMatchObject([{ repository: 'app', number: 1 }]);
    // It is the talk with the API that was followed by a look, and is followed by another one.
    const key = `pull_request.look:contact:${replica.id}`;
    const looks = 'select payload from graphile_worker._private_jobs where key = $1';
    expect((await world.pool.query(looks, [key])).rows).toMatchObject([{ payload: { step: 1 } }]);
    const { repository_statuses } = await shown(replica);
    expect(repository_statuses).toMatchObject([{ repository: 'app', pr_urls: [expect.any(String)] }]);
    await replica.turn([]);
    const ends = await world.db
      .selectFrom('replica_event')
      .select('payload')
      .where('replica_id', '=', replica.id)
      .where('type', '=', 'chat.turn.completed')
      .execute();
    const told = ends.flatMap(({ payload }) => (payload as { pr_urls: string[] }).pr_urls);
    expect(told).toEqual(['https://github.example/team/app/pull/1']);
  }, 60_000);

  it('are found when somebody else has opened them before the push', async () => {
    const pull = { number: 7, head: 'early', base: 'main', title: 'Toads', body: '', isDraft: false };
    api.pulls.push(pull);
    const replica = await createLiveReplica({ world, org }, { environment_id });
    expect((await replica.run(push('early'))).output).toBe('0\n');
    expect(await found(replica)).toMatchObject([{ number: 7 }]);
    const row = await world.db
      .selectFrom('replica_branch')
      .select(['branch', 'head_commit'])
      .where('replica_id', '=', replica.id)
      .executeTakeFirstOrThrow();
    expect(row).toEqual({
      branch: 'early',
      head_commit: await host.git('team/app', ['rev-parse', 'early']),
    });
  }, 60_000);

  it('came about with one token of the app, which no sandbox has seen', async () => {
    expect(api.apps.made()).toBe(1);
    const replica = await createLiveReplica({ world, org }, { environment_id });
    const seen = await replica.run('env; cat ~/workspaces/app/.git/config; cat ~/.gitconfig; true');
    expect(seen.output).not.toContain('ghs_');
  }, 60_000);
});
