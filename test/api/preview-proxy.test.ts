import { once } from 'node:events';
import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange, openSocket } from '../contract/raw-http.ts';
import { until } from '../world/world.ts';
import { type PreviewStage, startPreviewStage } from './preview-stage.ts';

const PORT = 3000;
let stage: PreviewStage;
let id: string;
let at: string;
beforeAll(async () => {
  stage = await startPreviewStage();
  id = await stage.replica();
  at = `/p/${id}/${PORT}`;
  await stage.register(id, PORT);
});
afterAll(() => stage?.close());

const askWithKey = (path: string, asked: Parameters<PreviewStage['ask']>[1] = {}) =>
  stage.ask(path, { ...asked, headers: { ...stage.withKey, ...asked.headers } });

describe('a request to a preview', () => {
  it('reaches the program with method, path, query and body, and brings its answer back', async () => {
    await stage.serve(id, PORT, async (incoming, response) => {
      const seen = { method: incoming.method, url: incoming.url, body: await text(incoming) };
      response.writeHead(418, { 'x-answer': ['a', 'b'] }).end(JSON.stringify(seen));
    });
    const headers = { 'content-type': 'application/x-odd' };
    const answer = await askWithKey(`${at}/a/../b?c=1&d=%20`, { method: 'PUT', headers, body: 'hi' });
    expect(answer.status).toBe(418);
    expect(answer.headers['x-answer']).toBe('a, b');
    expect(JSON.parse(answer.body)).toEqual({ method: 'PUT', url: '/a/../b?c=1&d=%20', body: 'hi' });
  });

  it.each(['OPTIONS', 'PROPFIND', 'DELETE', 'PATCH', 'TRACE'])('may be %s', async (method) => {
    await stage.serve(id, PORT, (incoming, response) => response.end(incoming.method));
    expect((await askWithKey(`${at}/`, { method })).body).toBe(method);
  });

  it('shows the program who asks, and no credential of ours', async () => {
    await stage.serve(id, PORT, (incoming, response) => response.end(JSON.stringify(incoming.headers)));
    const { body } = await askWithKey(`${at}/`, {
      headers: { 'x-forwarded-for': '10.0.0.1', cookie: 'a=1' },
    });
    expect(JSON.parse(body)).toEqual({
      host: `localhost:${PORT}`,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': new URL(stage.world.url).host,
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': at,
      connection: 'close',
    });
  });

  it('without a slash after the port is led to where relative links work', async () => {
    const answer = await askWithKey(`${at}?a=1`);
    expect(answer).toMatchObject({ status: 308, headers: { location: `${at}/?a=1` } });
  });

  it('keeps the bounds of a body of unknown length', async () => {
    await stage.serve(id, PORT, async (incoming, response) => {
      const encoding = incoming.headers['transfer-encoding'];
      response.end(`${incoming.method} ${encoding} ${await text(incoming)}`);
    });
    const smuggled = 'GET /inner HTTP/1.1\r\nHost: x\r\n\r\n';
    const [answer] = await exchange(
      stage.world.url,
      [
        `GET ${at}/ HTTP/1.1`,
        'Host: a',
        `Authorization: ${stage.withKey.authorization}`,
        'Transfer-Encoding: chunked',
        'Connection: close',
        '',
        `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
      ].join('\r\n'),
    );
    expect(answer?.body).toContain(`GET chunked ${smuggled}`);
  });
});

describe('who may see a preview', () => {
  it('is nobody without a key, whether or not there is such a preview', async () => {
    await stage.serve(id, PORT, (_incoming, response) => response.end('secret'));
    const refused = await stage.ask(`${at}/`);
    expect(refused.status).toBe(401);
    expect(refused.headers['x-service-error-code']).toBe('unauthenticated');
    expect(await stage.ask(`/p/${id}/3999/`)).toMatchObject({ status: 401, body: refused.body });
    const wrong = { authorization: 'Bearer rs_org_wrong' };
    expect((await stage.ask(`${at}/`, { headers: wrong })).status).toBe(401);
  });

  it('is not somebody of another organization, who cannot tell it from one that is not there', async () => {
    const other = await stage.world.org();
    const headers = { authorization: `Bearer ${other.key}` };
    const foreign = await stage.ask(`${at}/`, { headers });
    const absent = await stage.ask(`/p/${crypto.randomUUID()}/${PORT}/`, { headers });
    expect(foreign).toMatchObject({ status: 404, body: absent.body });
    expect((await askWithKey(`/p/${id}/3999/`)).status).toBe(404);
  });

  it('is anyone when it is public, and a key that is sent all the same stays here', async () => {
    await stage.register(id, 3001, { public: true });
    await stage.serve(id, 3001, (incoming, response) =>
      response.end(incoming.headers.authorization ?? 'none'),
    );
    expect(await stage.ask(`/p/${id}/3001/`)).toMatchObject({ status: 200, body: 'none' });
    const seen = async (authorization: string) =>
      (await stage.ask(`/p/${id}/3001/`, { headers: { authorization } })).body;
    expect(await seen(`Bearer ${stage.org.key}`)).toBe('none');
    expect(await seen('Bearer rs_org_gone')).toBe('none');
    expect(await seen('Basic dXNlcjpwYXNz')).toBe('Basic dXNlcjpwYXNz');
    expect(await seen('Bearer token-of-the-program')).toBe('Bearer token-of-the-program');
  });

  it('is nobody any more when the replica is deleted', async () => {
    const own = await stage.replica();
    await stage.register(own, PORT, { public: true });
    await stage.org.call('DELETE', `/v1/replica/${own}`);
    expect((await stage.ask(`/p/${own}/${PORT}/`)).status).toBe(401);
    expect((await askWithKey(`/p/${own}/${PORT}/`)).status).toBe(404);
  });
});

describe('a stream through a preview', () => {
  it('is there as soon as it begins, and ends when the caller is gone', async () => {
    let isGone = false;
    await stage.serve(id, PORT, (_incoming, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      response.once('close', () => {
        isGone = true;
      });
    });
    const incoming = await stage.open(`${at}/`, { headers: stage.withKey });
    expect(incoming.statusCode).toBe(200);
    incoming.destroy();
    await until(() => isGone);
  });

  it('carries megabytes both ways unchanged', async () => {
    await stage.serve(id, PORT, (incoming, response) => void incoming.pipe(response));
    const sent = Buffer.alloc(20_000_000, 'abcdefghij');
    const asking = request(`${stage.world.url}${at}/`, { method: 'POST', headers: stage.withKey });
    asking.end(sent);
    const [incoming] = await once(asking, 'response');
    expect((await buffer(incoming)).equals(sent)).toBe(true);
  });

  it('holds a program up that writes faster than the caller reads', async () => {
    let written = 0;
    await stage.serve(id, PORT, (_incoming, response) => {
      const piece = Buffer.alloc(65_536);
      const write = () => {
        while (written < 500_000_000 && !response.destroyed) {
          written += piece.length;
          if (!response.write(piece)) {
            response.once('drain', write);
            return;
          }
        }
      };
      write();
    });
    const incoming = await stage.open(`${at}/`, { headers: stage.withKey });
    let last = -1;
    await until(
      () => {
        const isStill = written === last;
        last = written;
        return isStill;
      },
      { intervalMs: 200 },
    );
    expect(written).toBeLessThan(30_000_000);
    incoming.destroy();
  });
});

describe('a program that does not answer', () => {
  it('is told apart from one that breaks off', async () => {
    await stage.register(id, 3002);
    const silent = await askWithKey(`/p/${id}/3002/`);
    expect(silent.status).toBe(502);
    expect(JSON.parse(silent.body).error).toContain('Nothing answers on port 3002');
    await stage.listen(id, 3002, (stream) => stream.once('data', () => stream.destroy()));
    const broken = await askWithKey(`/p/${id}/3002/`, { method: 'POST', body: 'x'.repeat(1_000_000) });
    expect(broken.status).toBe(502);
    expect(JSON.parse(broken.body).error).toContain('gave no valid answer');
  });

  it.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'x-a: b\r\n'.repeat(20_000)}`],
    [
      'an upgrade that nobody has asked for',
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
    ],
    ['a status that is none', 'HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n'],
  ])('is refused for it: %s', async (_what, bytes) => {
    await stage.listen(id, PORT, (stream) => stream.once('data', () => stream.write(bytes)));
    expect((await askWithKey(`${at}/`)).status).toBe(502);
  });

  it('breaks the answer off that it breaks off', async () => {
    const half = 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf';
    await stage.listen(id, PORT, (stream) =>
      stream.once('data', () => stream.end(half, () => stream.destroy())),
    );
    await expect(askWithKey(`${at}/`)).rejects.toThrow('aborted');
  });
});

describe('a replica that does not run', () => {
  it('is woken by a request, which is told to come again', async () => {
    const own = await stage.replica();
    await stage.register(own, PORT);
    await stage.sleep(own);
    const page = await askWithKey(`/p/${own}/${PORT}/`, { headers: { accept: 'text/html,*/*' } });
    expect(page.status).toBe(503);
    expect(page.headers).toMatchObject({ 'retry-after': '2', refresh: '2' });
    expect(page.body).toContain('waking up');
    await stage.reach(own, 'active');
    await stage.serve(own, PORT, (_incoming, response) => response.end('awake'));
    expect((await askWithKey(`/p/${own}/${PORT}/`)).body).toBe('awake');
  });

  it('is not woken by who may not see the preview', async () => {
    const own = await stage.replica();
    await stage.register(own, PORT);
    await stage.sleep(own);
    expect((await stage.ask(`/p/${own}/${PORT}/`)).status).toBe(401);
    expect((await stage.rowOf(own)).state).toBe('sleeping');
  });

  it('stays archived, and a failed one says so', async () => {
    const own = await stage.replica();
    await stage.register(own, PORT);
    await stage.org.call('POST', `/v1/workspaces/${own}/archive`);
    await stage.reach(own, 'archived');
    expect((await askWithKey(`/p/${own}/${PORT}/`)).status).toBe(409);
    expect((await stage.rowOf(own)).state).toBe('archived');
    const failed = await stage.failed();
    const row = { replica_id: failed, port: PORT, created_at: new Date() };
    await stage.world.db.insertInto('preview').values(row).execute();
    expect((await askWithKey(`/p/${failed}/${PORT}/`)).status).toBe(409);
  });
});

it('a preview that is used keeps its replica awake', async () => {
  const own = await stage.replica();
  await stage.register(own, PORT);
  await stage.serve(own, PORT, (_incoming, response) => response.end('ok'));
  // The agent's work on the first message is a use of the replica too.
  await until(async () => (await stage.org.call('GET', `/v1/replica/${own}/history`)).body.total >= 2);
  const before = await stage.rowOf(own);
  await askWithKey(`/p/${own}/${PORT}/`);
  expect((await stage.rowOf(own)).sleep_due_at).toEqual(before.sleep_due_at);
  stage.clock.ms += 61_000;
  await askWithKey(`/p/${own}/${PORT}/`);
  const after = await stage.rowOf(own);
  expect(after.sleep_due_at?.getTime()).toBeGreaterThan((before.sleep_due_at?.getTime() ?? 0) + 60_000);
});

describe('a WebSocket to a preview', () => {
  const handshake = (path: string, headers: string[] = [`Authorization: ${stage.withKey.authorization}`]) =>
    [
      `GET ${path} HTTP/1.1`,
      'Host: a',
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
      '',
      '',
    ].join('\r\n');

  const echo = (stream: Duplex, head: Buffer) => {
    stream.write(
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello ',
    );
    stream.write(head);
    stream.pipe(stream);
  };

  it('carries bytes both ways, and ends with either side', async () => {
    const seen: unknown[] = [];
    await stage.serve(
      id,
      PORT,
      (_incoming, response) => response.end(),
      (incoming, stream, head) => {
        seen.push(incoming.url, incoming.headers.authorization, incoming.headers['sec-websocket-key']);
        echo(stream, head);
      },
    );
    const socket = await openSocket(stage.world.url);
    socket.write(`${handshake(`${at}/ws?a=1`)}early `);
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
      if (received.endsWith('early ')) socket.write('late');
      if (received.endsWith('late')) socket.end();
    });
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
    expect(received.slice(received.indexOf('\r\n\r\n') + 4)).toBe('hello early late');
    expect(seen).toEqual(['/ws?a=1', undefined, 'dGhlIHNhbXBsZSBub25jZQ==']);
  });

  it('is refused like any request', async () => {
    const [none] = await exchange(stage.world.url, handshake(`${at}/`, []));
    expect(none).toMatchObject({ status: 401, headers: { 'x-service-error-code': 'unauthenticated' } });
    const [absent] = await exchange(stage.world.url, handshake(`/p/${id}/3999/`));
    expect(absent?.status).toBe(404);
    await stage.register(id, 3004);
    const [silent] = await exchange(stage.world.url, handshake(`/p/${id}/3004/`));
    expect(silent?.status).toBe(502);
  });

  it('gets the answer of a program that wants none', async () => {
    await stage.serve(
      id,
      PORT,
      () => {},
      (_incoming, stream) => stream.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'),
    );
    const [answer] = await exchange(stage.world.url, handshake(`${at}/`));
    expect(answer).toMatchObject({ status: 403, body: 'no', headers: { connection: 'close' } });
  });
});

it('a service that stops ends what streams through previews', async () => {
  const own = await startPreviewStage();
  try {
    const replica = await own.replica();
    await own.register(replica, PORT, { public: true });
    await own.serve(replica, PORT, (_incoming, response) => void response.write('begun'));
    const incoming = await own.open(`/p/${replica}/${PORT}/`, {});
    await once(incoming, 'data');
    const ended = text(incoming).catch((error: Error) => error.message);
    const beganAt = performance.now();
    await own.close();
    expect(performance.now() - beganAt).toBeLessThan(10_000);
    expect(await ended).toBe('aborted');
  } finally {
    await own.close();
  }
});
