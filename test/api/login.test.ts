import { createLocalJWKSet, jwtVerify } from 'jose';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createIdentity } from '../../src/account/identity.ts';
import { deviceClientId } from '../../src/contract/account.ts';
import { newId } from '../../src/lib/ids.ts';
import { type ApiAnswer, caller, type Organization, startWorld, type World } from '../world/world.ts';

const password = 'correct horse battery';
const grant_type = 'urn:ietf:params:oauth:grant-type:device_code';
const client_id = deviceClientId;

let world: World;
let org: Organization;
let email: string;
let personId: string;

beforeAll(async () => {
  world = await startWorld();
  org = await world.org();
  ({ email, id: personId } = await enrol());
});
afterAll(() => world.close());
beforeEach(async () => {
  // Each test starts with all attempts that an address has.
  await world.db.deleteFrom('login_attempt').execute();
});

const codeOf = ({ status, headers }: ApiAnswer) => [status, headers.get('x-service-error-code')];
const auth = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  world.call(method, `/v1/auth${path}`, body, headers);

async function enrol() {
  const address = `${newId()}@example.com`;
  const id = await world.db.transaction().execute(async (tx) => {
    const enrolment = world.identity.within(tx);
    const made = await enrolment.signUp({ email: address, name: 'Ada', password });
    await enrolment.addMember({ organizationId: org.id, personId: made, role: 'member' });
    return made;
  });
  return { email: address, id };
}

/** Calls with the session of a person who signs in. */
async function signIn(address = email) {
  const { status, body, headers } = await auth('POST', '/sign-in/email', { email: address, password });
  expect(status).toBe(200);
  const call = caller(world.url, body.token);
  const cookie = (headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
  return {
    cookie,
    setCookie: headers.getSetCookie(),
    call: (method: string, path: string, sent?: unknown) => call(method, `/v1/auth${path}`, sent),
  };
}

describe('signing in', () => {
  test('gives a session, and the session a JWT that others can check', async () => {
    const session = await signIn();
    const { body } = await session.call('GET', '/token');
    const jwks = (await auth('GET', '/jwks')).body;
    expect(JSON.stringify(jwks)).not.toContain('"d"');
    const { payload } = await jwtVerify(body.token, createLocalJWKSet(jwks), {
      issuer: world.url,
      audience: world.url,
      algorithms: ['EdDSA'],
    });
    expect(payload).toMatchObject({ sub: personId, organization_id: org.id, email });
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(900);
    expect((await caller(world.url, body.token)('GET', '/v1/me')).body.person.id).toBe(personId);
  });

  test('with a wrong password and with an unknown address is refused alike', async () => {
    const wrong = await auth('POST', '/sign-in/email', { email, password: 'wrong password' });
    const unknown = await auth('POST', '/sign-in/email', { email: 'nobody@example.com', password });
    expect(codeOf(wrong)).toEqual([401, 'unauthenticated']);
    expect(codeOf(unknown)).toEqual(codeOf(wrong));
    expect(unknown.body).toEqual(wrong.body);
  });

  test('is refused after ten tries of an address in a minute, also with the right password', async () => {
    for (let tries = 0; tries < 10; tries++) {
      const answer = await auth('POST', '/sign-in/email', { email, password: `wrong password ${tries}` });
      expect(answer.status).toBe(401);
    }
    const answer = await auth('POST', '/sign-in/email', { email, password });
    expect(codeOf(answer)).toEqual([429, 'rate_limited']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    await world.db
      .updateTable('login_attempt')
      .set((row) => ({ last_request: row('last_request', '-', 60_000) }))
      .execute();
    await signIn();
  });

  test('an address header sent from outside does not make another address of the caller', async () => {
    const attempt = (address: string) =>
      auth(
        'POST',
        '/sign-in/email',
        { email, password: 'wrong password' },
        {
          'x-replica-client-address': address,
          'x-forwarded-for': address,
        },
      );
    for (let tries = 0; tries < 10; tries++) await attempt(`10.0.0.${tries}`);
    expect((await attempt('10.0.0.99')).status).toBe(429);
  });

  test('ends with signing out: the session gives no more tokens', async () => {
    const session = await signIn();
    expect((await session.call('POST', '/sign-out')).status).toBe(200);
    expect(codeOf(await session.call('GET', '/token'))).toEqual([401, 'unauthenticated']);
    expect((await session.call('GET', '/get-session')).body).toBeNull();
  });

  test('a changed password ends the other sessions', async () => {
    const { email: address } = await enrol();
    const [one, other] = [await signIn(address), await signIn(address)];
    const change = { currentPassword: password, newPassword: 'another long one', revokeOtherSessions: true };
    expect((await one.call('POST', '/change-password', { ...change, currentPassword: 'wrong' })).status).toBe(
      400,
    );
    expect((await one.call('POST', '/change-password', { ...change, newPassword: 'short' })).status).toBe(
      400,
    );
    expect((await one.call('POST', '/change-password', change)).status).toBe(200);
    expect((await other.call('GET', '/token')).status).toBe(401);
    expect((await auth('POST', '/sign-in/email', { email: address, password })).status).toBe(401);
  });

  test('the other sessions of a person can be ended without a new password', async () => {
    const [one, other] = [await signIn(), await signIn()];
    expect((await one.call('POST', '/revoke-other-sessions')).status).toBe(200);
    expect((await other.call('GET', '/token')).status).toBe(401);
    expect((await one.call('GET', '/token')).status).toBe(200);
  });

  test('a person who belongs to no organization gets a token that opens nothing', async () => {
    const { email: address, id } = await enrol();
    const session = await signIn(address);
    await world.db.deleteFrom('member').where('person_id', '=', id).execute();
    const { body } = await session.call('GET', '/token');
    expect((await caller(world.url, body.token)('GET', '/v1/me')).status).toBe(401);
  });
});

describe('cookies', () => {
  test('are for this site and out of reach of scripts; over https they are secure', async () => {
    const { setCookie } = await signIn();
    expect(setCookie).toHaveLength(1);
    expect(setCookie[0]).toMatch(/^replica\.session_token=.*HttpOnly; SameSite=Lax$/);
    const baseUrl = 'https://replica.example.com';
    const identity = createIdentity({
      db: world.db,
      secret: newId() + newId(),
      baseUrl,
      log: pino({ level: 'silent' }),
    });
    const answer = await identity.handle(
      new Request(`${baseUrl}/v1/auth/sign-in/email`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password }),
      }),
    );
    expect(answer.headers.getSetCookie()[0]).toMatch(/^__Secure-replica\.session_token=.*; Secure/);
  });

  test.each([
    ['no origin', {}, 403],
    ['a foreign origin', { origin: 'https://evil.example.com' }, 403],
    ['an origin that only begins alike', { origin: 'http://127.0.0.1.evil.example.com' }, 403],
    ['a null origin', { origin: 'null' }, 403],
  ])('with %s change nothing', async (_what, headers, status) => {
    const { cookie } = await signIn();
    const answer = await auth('POST', '/sign-out', {}, { cookie, ...headers });
    expect(codeOf(answer)).toEqual([status, 'forbidden']);
    expect((await auth('GET', '/token', undefined, { cookie })).status).toBe(200);
  });

  test('with our own origin work', async () => {
    const { cookie } = await signIn();
    expect((await auth('POST', '/sign-out', {}, { cookie, origin: world.url })).status).toBe(200);
    expect((await auth('GET', '/token', undefined, { cookie })).status).toBe(401);
  });
});

describe('what is not offered', () => {
  let session: Awaited<ReturnType<typeof signIn>>;
  beforeAll(async () => {
    session = await signIn();
  });

  test.each([
    ['POST', '/sign-up/email'],
    ['POST', '/organization/create'],
    ['POST', '/organization/delete'],
    ['POST', '/organization/invite-member'],
    ['POST', '/organization/update-member-role'],
    ['POST', '/organization/remove-member'],
    ['POST', '/organization/leave'],
    ['POST', '/update-user'],
    ['POST', '/delete-user'],
    ['POST', '/request-password-reset'],
    ['POST', '/sign-in/social'],
    ['GET', '/list-sessions'],
    ['GET', '/sign-out'],
    ['POST', '/token'],
    ['GET', '/error'],
    ['GET', '/ok'],
    ['GET', ''],
  ])('%s %s is 404, signed in or not', async (method, path) => {
    const body =
      method === 'POST' ? { email: 'eve@example.com', password, name: 'Eve', slug: 'eve' } : undefined;
    expect(codeOf(await auth(method, path, body))).toEqual([404, 'not_found']);
    expect(codeOf(await session.call(method, path, body))).toEqual([404, 'not_found']);
  });

  test('better-auth itself refuses a sign-up, should a path ever lead to it', async () => {
    const request = new Request(`${world.url}/v1/auth/sign-up/email`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'eve@example.com', password, name: 'Eve' }),
    });
    expect((await world.identity.handle(request)).status).toBe(400);
    const people = await world.db
      .selectFrom('person')
      .selectAll()
      .where('email', '=', 'eve@example.com')
      .execute();
    expect(people).toEqual([]);
  });
});

describe('errors', () => {
  test.each([
    ['broken JSON', '{', {}, 400, 'invalid_json'],
    ['no body', undefined, {}, 400, 'invalid_request'],
    ['a missing field', { email: 'a@example.com' }, {}, 400, 'invalid_request'],
    ['a wrong type', { email: ['a@example.com'], password }, {}, 400, 'invalid_request'],
    ['no address', { email: 'nobody', password }, {}, 400, 'invalid_request'],
    ['NUL', { email: 'a\0@example.com', password }, {}, 400, 'invalid_request'],
    ['17 KB', { email: 'a@example.com', password: 'x'.repeat(17_000) }, {}, 413, 'payload_too_large'],
    [
      'a form',
      'email=a',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'unsupported_media_type',
    ],
  ])('%s is answered in our shape', async (_what, body, headers, status, code) => {
    const answer = await auth('POST', '/sign-in/email', body, headers);
    expect(codeOf(answer)).toEqual([status, code]);
    expect(Object.keys(answer.body).sort()).toEqual(['details', 'error']);
    expect(answer.headers.get('x-request-id')).toBeTruthy();
  });

  test('answers are not kept by caches and say how many requests are left', async () => {
    const { headers } = await auth('GET', '/jwks');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(Number(headers.get('ratelimit-remaining'))).toBeGreaterThan(0);
  });
});

describe('device login', () => {
  const begin = async () => (await auth('POST', '/device/code', { client_id })).body;
  const poll = async (device_code: string) => {
    // The device waits between two polls; here the time passes at once.
    await world.db.updateTable('device_code').set({ last_polled_at: null }).execute();
    return auth('POST', '/device/token', { grant_type, device_code, client_id });
  };

  test('a device gets a session once a person has approved its code', async () => {
    const started = await begin();
    expect(started).toMatchObject({
      verification_uri: `${world.url}/device`,
      verification_uri_complete: `${world.url}/device?user_code=${started.user_code}`,
      interval: 2,
      expires_in: 1_800,
    });
    const pending = await poll(started.device_code);
    expect(codeOf(pending)).toEqual([400, 'authorization_pending']);
    expect(pending.body).toMatchObject({ error: 'authorization_pending', details: expect.any(String) });

    const person = await signIn();
    const shown = await person.call('GET', `/device?user_code=${started.user_code}`);
    expect(shown.body).toMatchObject({ status: 'pending', client_id });
    const approved = await person.call('POST', '/device/approve', { userCode: started.user_code });
    expect(approved).toMatchObject({ status: 200, body: { success: true } });

    const { status, body } = await poll(started.device_code);
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'Bearer', access_token: expect.any(String) });
    const { token } = (await caller(world.url, body.access_token)('GET', '/v1/auth/token')).body;
    expect((await caller(world.url, token)('GET', '/v1/me')).body).toMatchObject({
      person: { id: personId },
      organization: { id: org.id },
    });
    expect(codeOf(await poll(started.device_code))).toEqual([400, 'invalid_grant']);
  });

  test('a denied code ends the login', async () => {
    const { device_code, user_code } = await begin();
    const person = await signIn();
    await person.call('GET', `/device?user_code=${user_code}`);
    expect((await person.call('POST', '/device/deny', { userCode: user_code })).status).toBe(200);
    expect(codeOf(await poll(device_code))).toEqual([400, 'access_denied']);
  });

  test('polling too fast is answered with slow_down', async () => {
    const { device_code } = await begin();
    await poll(device_code);
    const answer = await auth('POST', '/device/token', { grant_type, device_code, client_id });
    expect([...codeOf(answer), answer.body.error]).toEqual([400, 'slow_down', 'slow_down']);
  });

  test('a code runs out', async () => {
    const { device_code, user_code } = await begin();
    const person = await signIn();
    await world.db
      .updateTable('device_code')
      .set({ expires_at: new Date(0) })
      .execute();
    expect(codeOf(await person.call('GET', `/device?user_code=${user_code}`))).toEqual([
      400,
      'expired_token',
    ]);
    expect(codeOf(await poll(device_code))).toEqual([400, 'expired_token']);
  });

  test('a code that one person looks at cannot be approved by another or by nobody', async () => {
    const { user_code } = await begin();
    const person = await signIn();
    await person.call('GET', `/device?user_code=${user_code}`);
    const other = await signIn((await enrol()).email);
    expect((await other.call('POST', '/device/approve', { userCode: user_code })).status).toBe(403);
    expect((await auth('POST', '/device/approve', { userCode: user_code })).status).toBe(401);
  });

  test('other clients, other grants and unknown codes are refused', async () => {
    const { device_code } = await begin();
    const token = (body: Record<string, string>) =>
      auth('POST', '/device/token', { grant_type, device_code, client_id, ...body });
    expect(codeOf(await auth('POST', '/device/code', { client_id: 'evil' }))).toEqual([
      400,
      'invalid_client',
    ]);
    expect(codeOf(await token({ client_id: 'evil' }))).toEqual([400, 'invalid_grant']);
    expect(codeOf(await token({ device_code: 'unknown' }))).toEqual([400, 'invalid_grant']);
    expect((await token({ grant_type: 'password' })).status).toBe(400);
    expect(codeOf(await auth('GET', '/device?user_code=ABCDEFGH'))).toEqual([400, 'invalid_request']);
    expect(codeOf(await auth('GET', '/device'))).toEqual([400, 'invalid_request']);
  });

  test('a code cannot be bound to somebody beforehand', async () => {
    const { body } = await auth('POST', '/device/code', { client_id, user_id: personId });
    const row = await world.db
      .selectFrom('device_code')
      .select('person_id')
      .where('user_code', '=', body.user_code)
      .executeTakeFirstOrThrow();
    expect(row.person_id).toBeNull();
  });

  test('user codes cannot be guessed on and on', async () => {
    const person = await signIn();
    for (let tries = 0; tries < 20; tries++) await person.call('GET', `/device?user_code=AAAAAA${tries}`);
    expect(codeOf(await person.call('GET', '/device?user_code=AAAAAAAA'))).toEqual([429, 'rate_limited']);
  });

  test('the page runs its own script only and cannot be framed', async () => {
    const get = () => fetch(`${world.url}/device?user_code=%3Cscript%3E`);
    const [first, second] = [await get(), await get()];
    const policy = first.headers.get('content-security-policy') ?? '';
    const html = await first.text();
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
    expect(html.match(/<(script|style)[^>]*>/g)).toEqual([
      `<style nonce="${nonce}">`,
      `<script nonce="${nonce}">`,
    ]);
    expect(html).not.toMatch(/<[^>]* on[a-z]+=/);
    expect(html).not.toContain('<script>');
    expect(second.headers.get('content-security-policy')).not.toBe(policy);
    expect(first.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });
});
