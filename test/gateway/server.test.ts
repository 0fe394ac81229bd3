import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, describe, expect, test } from 'vitest';
import { AppError } from '../../src/contract/error.ts';
import { createEgress } from '../../src/gateway/egress.ts';
import { type GatewayRoute, startGateway } from '../../src/gateway/server.ts';
import { anotherSecret, type Stage, startStage } from './stage.ts';

let stage: Stage;
afterEach(() => stage?.close());

const hello: GatewayRoute = {
  prefix: '/hello/',
  async handle(request, response, identity) {
    if (request.url === '/hello/refused') throw new AppError('forbidden', 'Not today.');
    if (request.url === '/hello/broken') throw new Error('a secret detail');
    response.end(JSON.stringify({ sandboxId: identity.sandboxId, url: request.url }));
  },
};
const open = async (options: Parameters<typeof startStage>[0] = {}) => {
  stage = await startStage({ routes: () => [hello], ...options });
};
const basic = (password: string) => `Basic ${Buffer.from(`anyone:${password}`).toString('base64')}`;
const errorOf = (body: Buffer): string => JSON.parse(body.toString()).error;

/** Sends bytes as they are and reads until the gateway closes. */
async function exchange(bytes: string): Promise<string> {
  const socket = await stage.dial();
  socket.on('error', () => {});
  socket.write(bytes);
  return text(socket);
}

describe('who it is', () => {
  test('a secret comes as bearer or as the password of basic credentials', async () => {
    await open();
    const asBearer = await stage.call({ path: '/hello/a' });
    const asPassword = await stage.call({
      path: '/hello/a',
      secret: null,
      headers: { authorization: basic(stage.secret) },
    });
    for (const { status, body } of [asBearer, asPassword]) {
      expect([status, JSON.parse(body.toString()).sandboxId]).toEqual([200, stage.identity.sandboxId]);
    }
  });

  test.each([
    ['no secret', {}],
    ['a wrong secret', { authorization: 'Bearer wrong' }],
    ['a secret in the header for proxies', { 'proxy-authorization': basic('secret-of-the-sandbox') }],
    ['something else', { authorization: 'Negotiate abc' }],
  ])('%s is 401, also on paths that do not exist', async (_, headers) => {
    await open();
    for (const path of ['/hello/a', '/absent']) {
      const answer = await stage.call({ path, headers, secret: null });
      expect([answer.status, answer.headers['x-service-error-code']]).toEqual([401, 'unauthenticated']);
      expect(errorOf(answer.body)).toMatch(/secret of this sandbox/);
    }
  });

  test('a proxy asks for its own header', async () => {
    await open();
    const answer = await stage.call({
      path: 'http://a.example/',
      secret: null,
      headers: { authorization: `Bearer ${stage.secret}` },
    });
    expect([answer.status, answer.headers['proxy-authenticate']]).toEqual([407, 'Basic realm="gateway"']);
    expect(await exchange('CONNECT a.example:443 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 407 /);
  });
});

describe('where it goes', () => {
  test.each([
    '/',
    '/absent',
    '/hello',
    '/hellothere',
    '/hello/../engine/',
    '/hello/%2E%2e/x',
    '*',
    '/hello/a/..',
  ])('%s is 404', async (path) => {
    await open();
    const answer = await stage.call({ path });
    expect([answer.status, errorOf(answer.body)]).toEqual([404, 'Path not found.']);
  });

  test('what a route throws is answered with the error body, and the cause stays here', async () => {
    await open();
    const refused = await stage.call({ path: '/hello/refused' });
    expect([refused.status, errorOf(refused.body)]).toEqual([403, 'Not today.']);
    const broken = await stage.call({ path: '/hello/broken' });
    expect(broken.status).toBe(500);
    expect(broken.body.toString()).not.toContain('secret detail');
    expect(stage.logged.join('')).toContain('a secret detail');
  });
});

describe('limits', () => {
  test('headers that are too large are refused', async () => {
    await open();
    const answer = await exchange(`GET /hello/a HTTP/1.1\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 431 [\s\S]*larger than 16384 bytes/);
  });

  test.each(['\0\0\0\0', 'not http\r\n\r\n', 'GET /hello/a HTTP/9.9\r\n\r\n'])(
    '%j is refused, and the gateway goes on',
    async (bytes) => {
      await open();
      expect(await exchange(bytes)).toMatch(/^HTTP\/1.1 400 /);
      expect((await stage.call({ path: '/hello/a' })).status).toBe(200);
    },
  );

  test('a connection that does not say what it wants is closed', async () => {
    await open({ limits: { headersTimeoutMs: 100 } });
    expect(await exchange('GET /hello/a HTTP/1.1\r\n')).toMatch(/^HTTP\/1.1 408 /);
  });

  test('a sandbox that asks too often has to wait, and another one does not', async () => {
    await open({ limits: { requestBurst: 3, requestsPerSecond: 0.01 } });
    const statuses = [];
    for (let times = 0; times < 4; times += 1) statuses.push((await stage.call({ path: '/hello/a' })).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    expect((await stage.call({ path: '/hello/a', secret: anotherSecret })).status).toBe(200);
  });

  test('a sandbox has no more connections than it may, and gets them back', async () => {
    await open({ limits: { connectionsPerSandbox: 2 } });
    const sockets: Socket[] = [];
    for (let times = 0; times < 2; times += 1) {
      const socket = await stage.dial();
      socket.write(`GET /hello/a HTTP/1.1\r\nAuthorization: Bearer ${stage.secret}\r\n\r\n`);
      await once(socket, 'data');
      sockets.push(socket);
    }
    const refused = await stage.call({ path: '/hello/a' });
    expect([refused.status, errorOf(refused.body)]).toEqual([
      429,
      expect.stringMatching(/too many connections/),
    ]);
    for (const socket of sockets) socket.destroy();
    await expect.poll(async () => (await stage.call({ path: '/hello/a' })).status).toBe(200);
  });

  test('of many connections that say nothing the oldest goes, so that others are heard', async () => {
    await open({ limits: { unknownConnections: 3 } });
    const silent = await Promise.all(Array.from({ length: 3 }, () => stage.dial()));
    const closed = silent.map((socket) => once(socket.on('error', () => {}).resume(), 'close'));
    expect((await stage.call({ path: '/hello/a' })).status).toBe(200);
    await Promise.race(closed);
    for (const socket of silent) socket.destroy();
  });
});

describe('the socket', () => {
  const silent = pino({ level: 'silent' });
  const egress = () =>
    createEgress({
      policyOf: async () => ({ mode: 'none', hosts: [] }),
      record: () => {},
      allowPrivateTargets: false,
    });
  const start = (folder: string) =>
    startGateway({ folder, authenticate: async () => null, routes: [], egress: egress(), log: silent });

  test('everyone may connect, the folder holds nothing else, and closing removes it', async () => {
    await open();
    const folder = join(stage.folder, 'other');
    const gateway = await start(folder);
    expect((await stat(join(folder, 'gateway.sock'))).mode & 0o777).toBe(0o666);
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
    expect(await readdir(folder)).toEqual(['gateway.sock']);
    await gateway.close();
    expect(await readdir(folder)).toEqual([]);
  });

  test('a new gateway takes the place of an old one, which leaves it alone when it closes', async () => {
    await open();
    const folder = join(stage.folder, 'other');
    const first = await start(folder);
    const second = await start(folder);
    await first.close();
    const socket = connect(join(folder, 'gateway.sock'));
    await once(socket, 'connect');
    socket.destroy();
    await second.close();
    expect(await readdir(folder)).toEqual([]);
  });

  test('a folder with a long path will do', async () => {
    await open();
    const folder = join(stage.folder, 'a'.repeat(100), 'b'.repeat(100));
    mkdirSync(join(folder, '..'));
    const gateway = await start(folder);
    expect(await readdir(folder)).toEqual(['gateway.sock']);
    await gateway.close();
    expect(await readdir(folder)).toEqual([]);
  });
});
