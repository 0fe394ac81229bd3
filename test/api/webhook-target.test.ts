import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { shortTimes } from '../webhook/short-times.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

/** What the names of receivers resolve to. */
let addresses: string[] = [];
let lookups: string[] = [];
/** Connections that came to the loopback address. */
let connections = 0;
const listener = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
let world: World;
let org: Organization;
let environment_id: string;

beforeAll(async () => {
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  world = await startWorld({
    replaced: {
      webhookTimes: shortTimes,
      lookup: async (host) => {
        lookups.push(host);
        return addresses;
      },
    },
  });
});
beforeEach(async () => {
  [lookups, connections] = [[], 0];
  org = await world.org();
  environment_id = (await org.call('POST', '/v1/environments', { name: 'web' })).body.environment.id;
});
afterAll(async () => {
  await world?.close();
  listener.close();
});

function create(webhook_url: unknown) {
  const body = { name: 'told', message: 'Hello', environment_id, webhook_url };
  return org.call('POST', '/v1/replica', body, { 'x-service-api-version': '2026-05-17' });
}

describe('an address that is not public is refused at the creation', () => {
  test.each([
    ['http://hooks.example.com/', /does not allow http/],
    ['https://127.0.0.1/', /does not allow private targets/],
    ['https://0x7f000001/', /does not allow private targets/],
    ['https://10.1.2.3:8443/in', /does not allow private targets/],
    ['https://169.254.169.254/latest/meta-data', /does not allow private targets/],
    ['https://[::1]/', /does not allow private targets/],
    ['https://[::ffff:192.168.0.1]/', /does not allow private targets/],
    ['https://localhost/', /does not allow private targets/],
    ['https://receiver.localhost./', /does not allow private targets/],
    ['https://user:pass@hooks.example.com/', /user name or password/],
    ['https://hooks.example.com/#part', /fragment/],
  ])('%s', async (url, sentence) => {
    for (const webhook_url of [url, { url, secret: 's' }]) {
      expect(await create(webhook_url)).toMatchObject({
        status: 400,
        body: { error: expect.stringMatching(sentence) },
      });
    }
    expect((await org.call('GET', '/v1/replica')).body.total).toBe(0);
  });
});

describe('a name that turns out to be private is not connected to', () => {
  test.each<[string, string[]]>([
    ['loopback', ['127.0.0.1']],
    ['the metadata service', ['169.254.169.254']],
    ['a public address and a private one', ['8.8.8.8', '10.0.0.1']],
    ['an IPv6 spelling of the loopback', ['::ffff:127.0.0.1']],
  ])('%s', async (_, found) => {
    addresses = found;
    const { port } = listener.address() as { port: number };
    const made = await create({ url: `https://rebound.example:${port}/in`, secret: 's' });
    expect(made.status).toBe(201);
    const { id } = made.body.replica;
    const deliveries = await until(async () => {
      const { body } = await org.call('GET', `/v1/replica/${id}/deliveries?state=failed`);
      return body.total === 2 ? body.deliveries : null;
    });
    const refused = {
      status: null,
      error:
        'The host rebound.example is not a public address, and this service does not allow private targets.',
    };
    for (const delivery of deliveries) expect(delivery.attempts).toMatchObject([refused]);
    // Asked for at each attempt, and not at the creation, when it may have been public.
    expect(lookups).toEqual(['rebound.example', 'rebound.example']);
    expect(connections).toBe(0);
  });
});
