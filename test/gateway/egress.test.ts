import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from 'vitest';
import { type Stage, startStage } from './stage.ts';

let stage: Stage;
const servers: Server[] = [];
const accepted: Socket[] = [];
/** What the name servers say, by name. */
let names: Record<string, string[]>;

afterEach(async () => {
  await stage?.close();
  for (const socket of accepted.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) {
    server.close();
    if ('closeAllConnections' in server)
      (server as ReturnType<typeof createHttpServer>).closeAllConnections();
    await once(server, 'close');
  }
});

async function open(egress: NonNullable<Parameters<typeof startStage>[0]>['egress'] = {}): Promise<void> {
  names = { 'inside.example': ['127.0.0.1'] };
  stage = await startStage({
    egress: {
      lookup: async (host) => {
        const found = names[host];
        if (!found) throw new Error('ENOTFOUND');
        return found;
      },
      ...egress,
    },
  });
}

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
const listenHttp = (listener: RequestListener) => listen(createHttpServer(listener));
const listenTcp = (onSocket: (socket: Socket) => void) =>
  listen(
    createServer({ allowHalfOpen: true }, (socket) => {
      accepted.push(socket.on('error', () => {}));
      onSocket(socket);
    }),
  );

/** Asks for a tunnel and returns the status line's code with the connection. */
async function tunnel(
  authority: string,
  secret = stage.secret,
): Promise<{ status: number; socket: Socket; body: string }> {
  const socket = await stage.dial();
  socket.on('error', () => {});
  const basic = Buffer.from(`replica:${secret}`).toString('base64');
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [Buffer];
  const [top = '', body = ''] = head.toString().split('\r\n\r\n', 2);
  return { status: Number(top.split(' ')[1]), socket, body };
}

const proxied = (url: string, options: object = {}) => stage.call({ path: url, isProxied: true, ...options });

describe('tunnels', () => {
  test('bytes go both ways, and the end of one way leaves the other open', async () => {
    await open();
    const port = await listenTcp(async (socket) => {
      const said = await buffer(socket);
      socket.end(`heard ${said.length} bytes`);
    });
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const { status, socket } = await tunnel(`INSIDE.example:${port}`);
    expect(status).toBe(200);
    socket.end(Buffer.alloc(3_000_000));
    expect((await buffer(socket)).toString()).toBe('heard 3000000 bytes');
    expect(stage.contacts).toEqual([{ host: 'inside.example', port, allowed: true, reason: 'listed' }]);
  });

  test('a listed host that only this machine knows is found', async () => {
    stage = await startStage();
    const port = await listenTcp((socket) => void socket.pipe(socket));
    stage.policy = { mode: 'allowlist', hosts: [`localhost:${port}`] };
    const { status, socket } = await tunnel(`localhost:${port}`);
    expect(status).toBe(200);
    socket.destroy();
  });

  test('what is sent along with the request arrives', async () => {
    await open();
    const port = await listenTcp((socket) => void socket.pipe(socket));
    stage.policy = { mode: 'allowlist', hosts: [`127.0.0.1:${port}`] };
    const socket = await stage.dial();
    const basic = Buffer.from(`x:${stage.secret}`).toString('base64');
    socket.end(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\nProxy-Authorization: Basic ${basic}\r\n\r\nearly`);
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1.1 200 [\s\S]*\r\n\r\nearly$/);
  });

  test('a reader that is slow slows the sender down', async () => {
    await open();
    let sent = 0;
    const port = await listenTcp((socket) => {
      const send = () => {
        while (sent < 100_000_000 && socket.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      socket.on('drain', send);
      send();
    });
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const { socket } = await tunnel(`inside.example:${port}`);
    socket.pause();
    let before = -1;
    await expect
      .poll(
        () => {
          const isStill = sent === before;
          before = sent;
          return isStill;
        },
        { interval: 100, timeout: 5_000 },
      )
      .toBe(true);
    expect(sent).toBeLessThan(50_000_000);
    socket.destroy();
  });

  test('a client that goes away is gone for the server too, and the other way round', async () => {
    await open();
    const closed: Promise<unknown>[] = [];
    const near: Socket[] = [];
    const port = await listenTcp((socket) => {
      closed.push(once(socket.resume(), 'close'));
      near.push(socket);
    });
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const first = await tunnel(`inside.example:${port}`);
    await expect.poll(() => near.length).toBe(1);
    first.socket.destroy();
    await once(near[0] as Socket, 'end');
    near[0]?.end();
    await closed[0];
    const second = await tunnel(`inside.example:${port}`);
    const gone = once(second.socket.resume(), 'close');
    await expect.poll(() => near.length).toBe(2);
    near[1]?.resetAndDestroy();
    await gone;
  });

  test('a tunnel on which nothing moves is closed', async () => {
    await open({ limits: { idleTimeoutMs: 100 } });
    const port = await listenTcp((socket) => void socket.resume());
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const { socket } = await tunnel(`inside.example:${port}`);
    await once(socket.resume(), 'close');
  });

  test('a sandbox has no more tunnels than it may, and gets them back', async () => {
    await open({ limits: { connectionsPerSandbox: 1 } });
    const port = await listenTcp((socket) => void socket.pipe(socket));
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const { socket } = await tunnel(`inside.example:${port}`);
    expect((await tunnel(`inside.example:${port}`)).status).toBe(429);
    socket.end();
    await expect.poll(async () => (await tunnel(`inside.example:${port}`)).status).toBe(200);
  });

  test('closing the gateway ends tunnels', async () => {
    await open();
    const port = await listenTcp((socket) => void socket.pipe(socket));
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const { socket } = await tunnel(`inside.example:${port}`);
    const gone = once(socket.resume(), 'close');
    await stage.close();
    await gone;
  });
});

describe('refusals', () => {
  test.each([
    ['none', [], 'a.example:443', 'no_egress', /a\.example:443 .* "allowlist" or "open"/],
    ['allowlist', ['b.example'], 'a.example:443', 'not_listed', /Add "a\.example" to its egress hosts/],
    [
      'allowlist',
      ['a.example'],
      'a.example:22',
      'port_not_allowed',
      /Add "a\.example:22" to the egress hosts/,
    ],
    ['open', [], 'a.example:25', 'port_not_allowed', /a\.example:25/],
    ['open', [], 'inside.example:80', 'private_address', /not public/],
    ['open', [], '127.0.0.1:80', 'private_address', /127\.0\.0\.1:80/],
    ['open', [], '0x7f.1:80', 'private_address', /127\.0\.0\.1:80/],
    ['open', [], '2130706433:80', 'private_address', /127\.0\.0\.1:80/],
    ['open', [], '169.254.169.254:80', 'private_address', /not public/],
    ['open', [], '[::1]:80', 'private_address', /not public/],
    ['open', [], '[::ffff:10.0.0.1]:80', 'private_address', /not public/],
    ['open', [], '[64:ff9b::a9fe:a9fe]:80', 'private_address', /not public/],
    ['open', [], '0.0.0.0:80', 'private_address', /not public/],
    ['open', [], 'mixed.example:80', 'private_address', /not public/],
  ] as const)('%s %j refuses %s: %s', async (mode, hosts, authority, reason, sentence) => {
    await open();
    names['mixed.example'] = ['93.184.216.34', '10.0.0.1'];
    stage.policy = { mode, hosts };
    const asTunnel = await tunnel(authority);
    const asRequest = await proxied(`http://${authority}/`);
    for (const { status, body } of [asTunnel, asRequest]) {
      expect(status).toBe(403);
      expect(JSON.parse(body.toString()).error).toMatch(sentence);
    }
    expect(stage.contacts).toMatchObject([
      { allowed: false, reason },
      { allowed: false, reason },
    ]);
  });

  test('a listed private host is refused unless the operator allows private targets', async () => {
    await open({ allowPrivateTargets: false });
    const port = await listenHttp((_, response) => void response.end('inside'));
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`, `127.0.0.1:${port}`] };
    for (const host of ['inside.example', '127.0.0.1']) {
      expect((await tunnel(`${host}:${port}`)).status).toBe(403);
      expect((await proxied(`http://${host}:${port}/`)).status).toBe(403);
    }
  });

  test('a name that leads elsewhere the second time is asked only once', async () => {
    let asked = 0;
    await open({
      allowPrivateTargets: false,
      lookup: async () => {
        asked += 1;
        return asked === 1 ? ['192.0.2.1', '127.0.0.1'] : ['127.0.0.1'];
      },
    });
    const port = await listenHttp((_, response) => void response.end('inside'));
    stage.policy = { mode: 'open', hosts: [] };
    expect((await tunnel(`rebind.example:${port}`)).status).toBe(403);
    expect(asked).toBe(1);
  });

  test('unknown names and closed ports are 502 with a sentence', async () => {
    await open();
    stage.policy = { mode: 'allowlist', hosts: ['absent.example', 'inside.example:1'] };
    const unknown = await tunnel('absent.example:443');
    expect([unknown.status, JSON.parse(unknown.body).error]).toEqual([
      502,
      'No address is known for the host absent.example.',
    ]);
    expect((await tunnel('inside.example:1')).status).toBe(502);
    expect((await proxied('http://inside.example:1/')).status).toBe(502);
  });

  test('a name server and a host that never answer end in time', async () => {
    await open({ lookup: () => new Promise(() => {}), limits: { connectTimeoutMs: 100 } });
    stage.policy = { mode: 'open', hosts: [] };
    expect((await tunnel('slow.example:443')).status).toBe(502);
    expect((await proxied('http://slow.example/')).status).toBe(502);
  });

  test.each([
    'a.example',
    'a.example:0',
    'a.example:99999',
    'user@a.example:80',
    ':80',
    '[fe80::1%25eth0]:80',
    'a..b:80',
  ])('CONNECT %s is 400, and nothing is recorded', async (authority) => {
    await open();
    stage.policy = { mode: 'open', hosts: [] };
    expect((await tunnel(authority)).status).toBe(400);
    expect(stage.contacts).toEqual([]);
  });

  test.each(['https://a.example/', 'http://user:pass@a.example/', 'http://'])(
    '%s is no URL for a proxy',
    async (url) => {
      await open();
      stage.policy = { mode: 'open', hosts: [] };
      expect((await proxied(url)).status).toBe(400);
    },
  );
});

describe('plain requests', () => {
  let seen: { method: string | undefined; url: string | undefined; raw: string[]; body: Buffer };
  const answerWith = (listener: (request: IncomingMessage) => [number, string[]]) =>
    listenHttp(async (request, response) => {
      const body = await buffer(request);
      seen = { method: request.method, url: request.url, raw: request.rawHeaders, body };
      const [status, headers] = listener(request);
      response.writeHead(status, headers).end('answer');
    });
  const headerNames = () => seen.raw.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());

  test('a request and its answer pass, without what is for the connection or the proxy', async () => {
    await open();
    const port = await answerWith(() => [
      201,
      ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Connection', 'X-Hop', 'X-Hop', 'no', 'X-Kept', 'yes'],
    ]);
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const answer = await proxied(`http://inside.example:${port}/a/../b%2f?q=1`, {
      method: 'PUT',
      body: Buffer.from('body'),
      headers: {
        host: 'other.example',
        authorization: 'Bearer for-the-server',
        connection: 'keep-alive, x-private',
        'x-private': 'no',
        'x-kept': 'yes',
        te: 'trailers',
      },
    });
    expect([answer.status, answer.body.toString()]).toEqual([201, 'answer']);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect([answer.headers['x-kept'], answer.headers['x-hop']]).toEqual(['yes', undefined]);
    expect([seen.method, seen.url, seen.body.toString()]).toEqual(['PUT', '/a/../b%2f?q=1', 'body']);
    expect(seen.raw).toEqual(expect.arrayContaining([`inside.example:${port}`, 'Bearer for-the-server']));
    expect(headerNames()).toContain('x-kept');
    for (const name of ['proxy-authorization', 'x-private', 'te']) expect(headerNames()).not.toContain(name);
    expect(seen.raw.join()).not.toContain(stage.secret);
  });

  test('a body without a length passes in pieces', async () => {
    await open();
    const port = await answerWith(() => [200, []]);
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    const answer = await proxied(`http://inside.example:${port}`, {
      method: 'DELETE',
      headers: { 'transfer-encoding': 'chunked' },
      body: Buffer.from('piece'),
    });
    expect([answer.status, seen.url, seen.body.toString()]).toEqual([200, '/', 'piece']);
  });

  test('a server that breaks off is 502, or a broken answer when it has begun', async () => {
    await open();
    const port = await listenHttp((request, response) => {
      if (request.url === '/begun') response.writeHead(200, { 'content-length': '10' }).write('abc');
      setImmediate(() => response.destroy());
    });
    stage.policy = { mode: 'allowlist', hosts: [`inside.example:${port}`] };
    expect((await proxied(`http://inside.example:${port}/`)).status).toBe(502);
    await expect(proxied(`http://inside.example:${port}/begun`)).rejects.toThrow();
    expect((await proxied(`http://inside.example:${port}/`)).status).toBe(502);
  });
});
