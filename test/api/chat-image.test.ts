import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type ImageHost, startImageHost } from '../world/image-host.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let host: ImageHost;
let org: Organization;
let environmentId: string;
beforeAll(async () => {
  [world, host] = await Promise.all([
    startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } }),
    startImageHost(),
  ]);
  org = await world.org();
  environmentId = (await org.call('POST', '/v1/environments', { name: 'web' })).body.environment.id;
});
afterAll(async () => {
  await world?.close();
  await host?.close();
});

const image = (path: string) => ({ type: 'image', source: { type: 'url', url: host.url(path) } });

async function create(images: object[]): Promise<string> {
  const { status, body } = await org.call('POST', '/v1/replica', {
    name: 'test',
    message: 'look at this',
    environment_id: environmentId,
    images,
  });
  expect(status).toBe(201);
  return body.replica.id;
}

const messages = (replicaId: string) =>
  world.db
    .selectFrom('message')
    .select(['state', 'error', 'failure', 'text'])
    .where('replica_id', '=', replicaId)
    .orderBy('id')
    .execute();
const ended = (replicaId: string, states: string[]) =>
  vi.waitFor(
    async () => {
      const found = await messages(replicaId);
      expect(found.map(({ state }) => state)).toEqual(states);
      return found;
    },
    { timeout: 20_000, interval: 20 },
  );

describe('a message with the address of an image', () => {
  test('is worked on once the image is there', async () => {
    const id = await create([image('/redirect/2/png'), image('/jpeg')]);
    await ended(id, ['completed']);
    expect(host.requests).toEqual(expect.arrayContaining(['/redirect/2/png', '/png', '/jpeg']));
  });

  test('fails with a sentence when the image cannot be had, and the next one is worked on', async () => {
    const id = await create([image('/png')]);
    await ended(id, ['completed']);
    await using events = await org.stream('GET', `/v1/replica/${id}/events`);
    const path = `/v1/replica/${id}/messages`;
    await org.call('POST', path, { message: 'and this', images: [image('/png'), image('/text')] });
    await org.call('POST', path, { message: 'never mind' });
    const sentence = `The image ${host.url('/text')} could not be fetched: it is no PNG, JPEG, GIF or WebP image.`;
    const { data } = await events.event('error');
    expect(data.payload).toMatchObject({ code: 'turn_failed', message: sentence });
    expect((await events.event('chat.turn.completed')).data.payload.isComplete).toBe(false);
    expect(await ended(id, ['completed', 'failed', 'completed'])).toMatchObject([
      {},
      { error: sentence, text: 'and this' },
      { error: null, text: 'never mind' },
    ]);
  });
});
