import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { shortTimes } from '../webhook/short-times.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../world/webhook-receiver.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

let world: World;
let receiver: WebhookReceiver;
let org: Organization;
beforeAll(async () => {
  receiver = await startWebhookReceiver();
  world = await startWorld({
    environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' },
    replaced: { webhookTimes: shortTimes },
  });
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(async () => {
  await world?.close();
  await receiver?.close();
});

/** A repository that was read before, so that nobody asks for it. */
async function connectRepository(name: string): Promise<string> {
  const [id, at, url] = [newId(), new Date(), `https://git.example.com/${name}`];
  const known = { id, organization_id: org.id, name, url, url_key: url, status: 'ready' };
  await world.db
    .insertInto('repository')
    .values({ ...known, default_branch: 'main', created_at: at, updated_at: at })
    .execute();
  return id;
}

/** What the ends of the turns of a replica have told, once there are so many. */
async function turns(
  replicaId: string,
  count: number,
): Promise<{ repository_statuses: unknown; pr_urls: unknown }[]> {
  return until(() => {
    const ended = receiver.all.filter(
      ({ headers }) =>
        headers['x-service-event'] === 'replica.turn_completed' &&
        headers['x-service-replica-id'] === replicaId,
    );
    return ended.length >= count ? ended.map(({ body }) => JSON.parse(body.toString()).data) : null;
  }).then((data) => data ?? []);
}

test('the end of a turn tells repositories and branches, and each new pull request once', async () => {
  const repository_id = await connectRepository('app');
  const environment = await org.call('POST', '/v1/environments', { name: 'web', repository_id });
  const made = await org.call('POST', '/v1/replica', {
    name: 'told',
    message: 'Hello',
    environment_id: environment.body.environment.id,
    webhook_url: receiver.url('/turns'),
  });
  const { id } = made.body.replica;
  const status = { repository: 'app', branch: 'main', default_branch: 'main' };
  expect(await turns(id, 1)).toEqual([{ repository_statuses: [{ ...status, pr_urls: [] }], pr_urls: [] }]);

  const url = 'https://git.example.com/app/pull/7';
  await world.db
    .insertInto('replica_pull_request')
    .values({
      id: newId(),
      organization_id: org.id,
      replica_id: id,
      repository_id,
      number: 7,
      url,
      created_at: new Date(),
    })
    .execute();
  for (const [index, message] of ['two', 'three'].entries()) {
    await org.call('POST', `/v1/replica/${id}/messages`, { message });
    await turns(id, index + 2);
  }
  const known = { repository_statuses: [{ ...status, pr_urls: [url] }] };
  expect((await turns(id, 3)).slice(1)).toEqual([
    { ...known, pr_urls: [url] },
    { ...known, pr_urls: [] },
  ]);
});
