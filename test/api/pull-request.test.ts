import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordedAt } from '../world/github-event.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';
import { host, sendGithub, setHost } from './git-event-stage.ts';

const secret = 'what-the-host-signs-with';
const url = `https://${host}/acme/shop.git`;

let world: World;
let org: Organization;
let environment_id: string;
let repositoryId: string;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_FOLLOW_UP_SECONDS: '2' } });
  org = await world.org();
  await setHost(org, { host, kind: 'github', secret });
  const connected = await org.call('POST', '/v1/repositories', { url });
  repositoryId = connected.body.repository.id;
  const bound = await org.call('POST', '/v1/environments', { name: 'shop', repository_id: repositoryId });
  environment_id = bound.body.environment.id;
});
afterAll(() => world?.close());

/** A replica that has pushed the branch of the recorded pull request; sandboxes push it themselves in live tests. */
async function replicaOf(more: object = {}): Promise<string> {
  const made = await org.call('POST', '/v1/replica', { name: 'r', message: 'm', environment_id, ...more });
  const { id } = made.body.replica;
  await world.db
    .insertInto('replica_branch')
    .values({
      replica_id: id,
      repository_id: repositoryId,
      branch: 'changes',
      head_commit: 'ec26c3e57ca3a959ca5aad62de7213c562f8c821',
      pushed_at: new Date(),
    })
    .execute();
  return id;
}

const read = async (id: string) => (await org.call('GET', `/v1/replica/${id}?wake=false`)).body.replica;
const tell = async (name: string, fits: Parameters<typeof recordedAt>[2]) => {
  const { status } = await sendGithub(world, name, recordedAt(url, name, fits), { secret });
  expect(status).toBe(202);
};
const followUps = async (id: string) => {
  const messages = world.db.selectFrom('message').select('text').where('replica_id', '=', id);
  const texts = (await messages.orderBy('id').execute()).map(({ text }) => text);
  return texts.filter((text) => text.startsWith('There is news of pull request'));
};

test('a workspace learns what is said of its pull request, and is closed with it', async () => {
  const id = await replicaOf();
  const other = await replicaOf({ config: { preferences: { keep_open_on_pr_merge: true } } });
  await tell('pull_request', 'opened');
  for (const each of [id, other]) await until(async () => (await read(each)).pull_requests.length === 1);
  expect((await read(id)).repository_statuses).toMatchObject([
    { repository: 'shop', pr_urls: ['https://github.com/Codertocat/Hello-World/pull/2'] },
  ]);

  await tell('check_run', ({ check_run }) => check_run.conclusion === 'failure');
  await tell('pull_request_review_comment', 'created');
  await tell('pull_request_review_comment', 'created');
  const message = await until(async () => (await followUps(id))[0]);
  for (const part of ['A check has failed', 'discussion_r284312630']) expect(message).toContain(part);

  await tell('pull_request', 'closed');
  await until(async () => (await read(id)).status === 'archived');
  expect(await followUps(id)).toHaveLength(1);
  const { status, pull_requests } = await read(other);
  expect([status, pull_requests.length]).toEqual(['active', 1]);
});
