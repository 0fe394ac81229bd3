import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { caller, type Organization, type Person, startWorld, type World } from '../world/world.ts';

// Services on one database have the same master key.
const environment = { REPLICA_SECRET_KEY: randomBytes(32).toString('base64') };

let world: World;
let org: Organization;
let admin: Person;
let member: Person;

beforeAll(async () => {
  world = await startWorld({ environment });
  org = await world.org();
  admin = await world.person(org, 'admin');
  member = await world.person(org, 'member');
});
afterAll(() => world.close());

const kinds = [
  { kind: 'personal', path: '/v1/user/api-keys', pattern: /^rs_user_[0-9A-Za-z]{49}$/ },
  { kind: 'org', path: '/v1/organization/api-keys', pattern: /^rs_org_[0-9A-Za-z]{49}$/ },
] as const;

describe.each(kinds)('$kind API keys', ({ path, pattern }) => {
  test('a key is shown once, works at once, and only its hash is stored', async () => {
    const made = await admin.call('POST', path, { name: 'CI' });
    expect(made.status).toBe(201);
    const { api_key, key } = made.body;
    expect(key).toMatch(pattern);
    expect(api_key).toEqual({
      id: expect.any(String),
      name: 'CI',
      prefix: key.slice(0, 12),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      last_used_at: null,
    });
    expect((await caller(world.url, key)('GET', '/v1/me')).body.api_key).toEqual(api_key);
    const listed = await admin.call('GET', path);
    expect(JSON.stringify(listed.body)).not.toContain(key);
    const row = await world.db
      .selectFrom('api_key')
      .selectAll()
      .where('id', '=', api_key.id)
      .executeTakeFirstOrThrow();
    expect(row.hash).toEqual(createHash('sha256').update(key).digest());
    const { rows } = await world.pool.query('select key::text as text from api_key as key where id = $1', [
      row.id,
    ]);
    expect(rows[0].text).not.toContain(key.slice(12));
  });

  test('a key on the key paths is refused with 401, whatever it may do elsewhere', async () => {
    const { body } = await admin.call('POST', path, { name: 'not a person' });
    const withKey = caller(world.url, body.key);
    const answers = await Promise.all([
      withKey('POST', path, { name: 'x' }),
      withKey('GET', path),
      withKey('DELETE', `${path}/${body.api_key.id}`),
    ]);
    for (const { status, headers } of answers) {
      expect(status).toBe(401);
      expect(headers.get('x-service-error-code')).toBe('unauthenticated');
    }
  });

  test('nobody gets in without a credential', async () => {
    for (const method of ['GET', 'POST']) expect((await world.call(method, path)).status).toBe(401);
    expect((await world.call('DELETE', `${path}/${newId()}`)).status).toBe(401);
  });

  test('the list has pages, newest first', async () => {
    const fresh = await world.person(await world.org(), 'admin');
    for (const name of ['1', '2', '3']) await fresh.call('POST', path, { name });
    const names = async (query: string) => {
      const { body } = await fresh.call('GET', `${path}${query}`);
      return { ...body, api_keys: body.api_keys.map((key: { name: string }) => key.name) };
    };
    const isOrg = path.includes('organization');
    const others = isOrg ? ['test'] : [];
    const total = 3 + others.length;
    const first = await names('');
    expect(first).toEqual({
      api_keys: ['3', '2', '1', ...others],
      total,
      page: 1,
      limit: 10,
      total_pages: 1,
    });
    expect(await names('?limit=2&page=2')).toMatchObject({
      api_keys: ['1', ...others],
      total_pages: 2,
      page: 2,
    });
    expect(await names('?page=99')).toMatchObject({ api_keys: [], total });
  });

  test.each(['?page=0', '?page=x', '?limit=0', '?limit=101', '?page=1.5', '?page=-1'])(
    '%s is refused',
    async (query) => {
      const { status, headers } = await admin.call('GET', `${path}${query}`);
      expect([status, headers.get('x-service-error-code')]).toEqual([400, 'invalid_request']);
    },
  );

  test.each([
    ['a missing name', {}],
    ['a name that is no text', { name: 7 }],
    ['an empty name', { name: '' }],
    ['a name of spaces', { name: ' \t ' }],
    ['a name of 101 characters', { name: 'x'.repeat(101) }],
    ['a name with NUL', { name: 'a\0b' }],
    ['a name with a lone surrogate', '{"name":"\\ud800"}'],
    ['a list', []],
  ])('%s is refused and nothing is stored', async (_what, body) => {
    const before = (await admin.call('GET', path)).body.total;
    expect((await admin.call('POST', path, body)).status).toBe(400);
    expect((await admin.call('GET', path)).body.total).toBe(before);
  });

  test('a name of 100 characters and unknown fields are accepted', async () => {
    const name = 'ü'.repeat(100);
    const { status, body } = await admin.call('POST', path, { name, hash: 'x', id: newId() });
    expect([status, body.api_key.name]).toEqual([201, name]);
  });

  test('a deleted key is gone, and deleting it again is 404', async () => {
    const { body } = await admin.call('POST', path, { name: 'short-lived' });
    const remove = () => admin.call('DELETE', `${path}/${body.api_key.id}`);
    expect(await remove()).toMatchObject({ status: 200, body: { success: true } });
    expect((await remove()).status).toBe(404);
  });

  test('ids that are no UUID or name nothing are 404', async () => {
    for (const id of ['nothing', newId(), '%00']) {
      expect((await admin.call('DELETE', `${path}/${id}`)).status).toBe(404);
    }
  });

  test('keys of another organization are 404', async () => {
    const stranger = await world.person(await world.org(), 'admin');
    const { body } = await stranger.call('POST', path, { name: 'theirs' });
    expect((await admin.call('DELETE', `${path}/${body.api_key.id}`)).status).toBe(404);
    expect((await caller(world.url, body.key)('GET', '/v1/me')).status).toBe(200);
  });

  test('the same Idempotency-Key gives the same key again', async () => {
    const headers = { 'idempotency-key': newId() };
    const first = await admin.call('POST', path, { name: 'once' }, headers);
    const second = await admin.call('POST', path, { name: 'once' }, headers);
    expect(second.body).toEqual(first.body);
  });
});

describe('who may not', () => {
  test('a member manages no org keys: 403', async () => {
    const path = '/v1/organization/api-keys';
    const answers = await Promise.all([
      member.call('POST', path, { name: 'x' }),
      member.call('GET', path),
      member.call('DELETE', `${path}/${newId()}`),
    ]);
    for (const { status, headers } of answers) {
      expect([status, headers.get('x-service-error-code')]).toEqual([403, 'forbidden']);
    }
  });

  test("a person sees and deletes only their own keys, an admin's included", async () => {
    const key = await member.personalKey();
    const listed = (await admin.call('GET', '/v1/user/api-keys?limit=100')).body.api_keys;
    expect(listed.map(({ id }: { id: string }) => id)).not.toContain(key.id);
    expect((await admin.call('DELETE', `/v1/user/api-keys/${key.id}`)).status).toBe(404);
    expect((await admin.call('DELETE', `/v1/organization/api-keys/${key.id}`)).status).toBe(404);
    expect((await key.call('GET', '/v1/me')).status).toBe(200);
  });

  test('an org key is no personal key of the admin who made it', async () => {
    const { body } = await admin.call('POST', '/v1/organization/api-keys', { name: 'org' });
    expect((await admin.call('DELETE', `/v1/user/api-keys/${body.api_key.id}`)).status).toBe(404);
  });
});

test('a person has at most 100 keys in an organization, also when they are made at once', async () => {
  const person = await world.person(await world.org(), 'member');
  for (let made = 0; made < 98; made++) await person.call('POST', '/v1/user/api-keys', { name: `${made}` });
  const race = await Promise.all(
    Array.from({ length: 6 }, () => person.call('POST', '/v1/user/api-keys', { name: 'race' })),
  );
  const statuses = race.map(({ status }) => status).sort();
  expect(statuses).toEqual([201, 201, 409, 409, 409, 409]);
  expect(race.find(({ status }) => status === 409)?.headers.get('x-service-error-code')).toBe(
    'limit_reached',
  );
});

describe('two services on one database', () => {
  let second: World;
  beforeAll(async () => {
    second = await startWorld({ environment, databaseUrl: world.databaseUrl });
  });
  afterAll(() => second.close());

  /** Every request sent a second or more after the change was answered must be refused. */
  async function expectRefusedWithinASecond(call: ReturnType<typeof caller>): Promise<void> {
    const changedAt = performance.now();
    for (;;) {
      const sentAfterMs = performance.now() - changedAt;
      if ((await call('GET', '/v1/me')).status === 401) return;
      expect(sentAfterMs).toBeLessThan(1_000);
    }
  }

  test('a key deleted at one is refused by both within a second', async () => {
    const { body } = await admin.call('POST', '/v1/organization/api-keys', { name: 'shared' });
    const calls = [caller(world.url, body.key), caller(second.url, body.key)];
    for (const call of calls) expect((await call('GET', '/v1/me')).status).toBe(200);
    await admin.call('DELETE', `/v1/organization/api-keys/${body.api_key.id}`);
    await Promise.all(calls.map(expectRefusedWithinASecond));
  });

  test('the removal of a member ends their personal keys at both within a second', async () => {
    const leaver = await world.person(org, 'member');
    const { key } = await leaver.personalKey();
    const calls = [caller(world.url, key), caller(second.url, key)];
    for (const call of calls) expect((await call('GET', '/v1/me')).status).toBe(200);
    expect((await admin.call('DELETE', `/v1/organization/members/${leaver.id}`)).status).toBe(200);
    await Promise.all(calls.map(expectRefusedWithinASecond));
    expect((await leaver.call('GET', '/v1/me')).status).toBe(401);
  });
});
