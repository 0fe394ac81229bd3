import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exchange } from '../contract/raw-http.ts';
import { type Answer, type PreviewStage, startPreviewStage } from './preview-stage.ts';

const PORT = 3000;
const MINUTE = 60_000;
let stage: PreviewStage;
let id: string;
let at: string;
beforeAll(async () => {
  stage = await startPreviewStage();
  id = await stage.replica();
  at = `/p/${id}/${PORT}`;
  await stage.register(id, PORT);
  await stage.register(id, 3001);
  await stage.serve(id, PORT, (incoming, response) =>
    response
      .writeHead(200, {
        'set-cookie': ['theme=dark; Path=/', 'replica.session_token=x; Domain=example.com; Path=/'],
        'service-worker-allowed': '/',
      })
      .end(JSON.stringify({ url: incoming.url, cookie: incoming.headers.cookie ?? null })),
  );
});
afterAll(() => stage?.close());

async function link(port = PORT): Promise<{ url: URL; path: string; token: string; expiresAt: string }> {
  const made = await stage.org.call('POST', `/v1/workspaces/${id}/previews/${port}/links`);
  expect(made.status).toBe(201);
  const url = new URL(made.body.link.url);
  const token = url.searchParams.get('replica_token') ?? '';
  return { url, path: `${at}/${url.search}`, token, expiresAt: made.body.link.expiresAt };
}

/** What a browser sends back of a cookie that it was given. */
function cookieOf({ headers }: Answer): string {
  return headers['set-cookie']?.[0]?.split(';')[0] ?? '';
}

async function openLink(): Promise<string> {
  return cookieOf(await stage.ask((await link()).path));
}

const seenWith = (cookie: string, port = PORT) => stage.ask(`/p/${id}/${port}/`, { headers: { cookie } });

describe('a link to a preview', () => {
  it('begins a session of the browser that opens it, and leads on without the token', async () => {
    const { path, token, expiresAt } = await link();
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(9 * MINUTE);
    const entered = await stage.ask(`${at}/a//b?x=1&replica_token=${token}&y=2`);
    expect(entered.status).toBe(303);
    expect(entered.headers).toMatchObject({
      location: `${at}/a//b?x=1&y=2`,
      'referrer-policy': 'no-referrer',
    });
    expect(entered.headers['set-cookie']?.[0]).toMatch(
      new RegExp(`^replica_preview=[\\w-]+; Path=${at}/; Max-Age=43200; HttpOnly; SameSite=Lax$`),
    );
    const seen = await seenWith(`replica.session_token=ours; ${cookieOf(entered)}`);
    expect(JSON.parse(seen.body)).toEqual({ url: '/', cookie: null });
    expect((await stage.ask(path)).status).toBe(303);
  });

  it('leads to an origin of its own where the service is local', async () => {
    const { url } = await link();
    expect(url.host).toBe(`${PORT}--${id}.localhost:${new URL(stage.world.url).port}`);
    const entered = await stage.ask(`${url.pathname}${url.search}`, { host: url.host });
    expect(entered).toMatchObject({ status: 303, headers: { location: '/' } });
    const seen = await stage.ask('/v1/x', { host: url.host, headers: { cookie: cookieOf(entered) } });
    expect(JSON.parse(seen.body)).toEqual({ url: '/v1/x', cookie: null });
    expect(seen.headers).not.toHaveProperty('content-security-policy');
  });

  it('is for one preview, for ten minutes, and no session by itself', async () => {
    const { token } = await link();
    expect((await stage.ask(`/p/${id}/3001/?replica_token=${token}`)).status).toBe(401);
    expect((await seenWith(`replica_preview=${token}`)).status).toBe(401);
    expect((await stage.ask(`${at}/?replica_token=wrong`)).status).toBe(401);
    expect((await stage.ask(`${at}/?replica_token=`)).status).toBe(401);
    stage.clock.ms += 11 * MINUTE;
    expect((await stage.ask(`${at}/?replica_token=${token}`)).status).toBe(401);
  });

  it('is never shown to the program', async () => {
    const { token } = await link();
    const headers = { ...stage.withKey };
    const posted = await stage.ask(`${at}/?replica_token=${token}&a=1`, { method: 'POST', headers });
    expect(JSON.parse(posted.body).url).toBe('/?a=1');
  });

  it('is made for previews that are there', async () => {
    const absent = await stage.org.call('POST', `/v1/workspaces/${id}/previews/3999/links`);
    expect(absent.status).toBe(404);
  });
});

describe('the session of a browser', () => {
  it('is for one preview, and lasts twelve hours', async () => {
    const cookie = await openLink();
    expect((await seenWith(cookie)).status).toBe(200);
    expect((await seenWith(cookie, 3001)).status).toBe(401);
    expect((await seenWith(`replica_preview=garbage; ${cookie}`)).status).toBe(200);
    stage.clock.ms += 12 * 60 * MINUTE;
    expect((await seenWith(cookie)).status).toBe(401);
  });

  it('ends when the preview is removed, also when it is registered anew', async () => {
    const cookie = await openLink();
    await stage.org.call('DELETE', `/v1/workspaces/${id}/previews/${PORT}`);
    expect((await seenWith(cookie)).status).toBe(401);
    stage.clock.ms += 1;
    await stage.register(id, PORT);
    expect((await seenWith(cookie)).status).toBe(401);
  });

  it('lets a WebSocket through', async () => {
    const cookie = await openLink();
    const [answer] = await exchange(
      stage.world.url,
      `GET ${at}/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: ${cookie}\r\n\r\n`,
    );
    // The program does not speak WebSocket, so it is its own answer that comes.
    expect(answer?.status).toBe(200);
  });
});

describe('a page under /p/', () => {
  it('gets an origin of its own, and sets no cookie of ours', async () => {
    const { headers } = await stage.ask(`${at}/`, { headers: stage.withKey });
    expect(headers['content-security-policy']).toMatch(/^sandbox allow-/);
    expect(headers['content-security-policy']).not.toContain('allow-same-origin');
    expect(headers['set-cookie']).toEqual([
      `replica_preview.theme=dark; Path=${at}/`,
      `replica_preview.replica.session_token=x; Path=${at}/`,
    ]);
    expect(headers).not.toHaveProperty('service-worker-allowed');
    expect(headers['cache-control']).toBe('private, no-cache');
  });

  it('may fetch from its program what is public, and only that', async () => {
    const asking = { origin: 'null', 'access-control-request-method': 'PUT' };
    const fetched = { headers: { origin: 'null' } };
    await stage.register(id, 3001, { public: true });
    await stage.serve(id, 3001, (_, response) => response.end('open to all'));
    const open = await stage.ask(`/p/${id}/3001/`, fetched);
    expect(open).toMatchObject({ body: 'open to all', headers: { 'access-control-allow-origin': '*' } });
    const allowed = await stage.ask(`/p/${id}/3001/x`, { method: 'OPTIONS', headers: asking });
    expect(allowed).toMatchObject({ status: 204, headers: { 'access-control-allow-methods': 'PUT' } });
    await stage.register(id, 3001, { public: false });
    const refused = await stage.ask(`/p/${id}/3001/x`, { method: 'OPTIONS', headers: asking });
    expect(refused.status).toBe(401);
    expect(refused.headers).not.toHaveProperty('access-control-allow-origin');
  });

  it('gets the cookies back that it has set', async () => {
    const headers = { ...stage.withKey, cookie: 'replica_preview.theme=dark; other=1' };
    expect(JSON.parse((await stage.ask(`${at}/`, { headers })).body).cookie).toBe('theme=dark');
  });
});

describe('a preview with a host name', () => {
  let named: PreviewStage;
  let replica: string;
  let host: string;
  beforeAll(async () => {
    named = await startPreviewStage({ REPLICA_PREVIEW_DOMAIN: 'preview.test:7070' });
    replica = await named.replica();
    host = `${PORT}--${replica}.preview.test`;
    await named.serve(replica, PORT, (incoming, response) =>
      response
        .setHeader('set-cookie', 'a=1; Domain=preview.test')
        .end(JSON.stringify({ url: incoming.url, cookie: incoming.headers.cookie ?? null })),
    );
  });
  afterAll(() => named?.close());

  it('is where its address says, whatever the path', async () => {
    const { body } = await named.register(replica, PORT);
    expect(body.preview.publicUrl).toBe(`http://${host}:7070/`);
    for (const path of ['/', '/v1/replica', '/openapi.json', '/%7e?x=1', '//double']) {
      const seen = await named.ask(path, { host, headers: named.withKey });
      expect(JSON.parse(seen.body)).toEqual({ url: path, cookie: null });
      expect(seen.headers).not.toHaveProperty('content-security-policy');
      expect(seen.headers['set-cookie']).toEqual(['a=1']);
    }
    expect((await named.ask('/v1/replica', { host })).status).toBe(401);
    expect((await named.ask('/v1/replica', { headers: named.withKey })).body).toContain('"replicas"');
  });

  it('is opened by a link, which never leads elsewhere', async () => {
    const made = await named.org.call('POST', `/v1/workspaces/${replica}/previews/${PORT}/links`);
    const { search } = new URL(made.body.link.url);
    for (const path of ['/', '//evil.test/', '/\\evil.test/']) {
      const entered = await named.ask(`${path}${search}`, { host });
      expect(entered.status).toBe(303);
      expect(entered.headers.location).toMatch(/^\/(?![/\\])/);
      const cookie = `other=1; ${cookieOf(entered)}`;
      expect(entered.headers['set-cookie']?.[0]).toContain('; Path=/;');
      const seen = await named.ask('/', { host, headers: { cookie } });
      expect(JSON.parse(seen.body).cookie).toBe('other=1');
    }
  });

  it('answers under /p/ as well', async () => {
    const seen = await named.ask(`/p/${replica}/${PORT}/x`, { headers: named.withKey });
    expect(JSON.parse(seen.body).url).toBe('/x');
  });
});
