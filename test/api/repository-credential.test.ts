import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startGitHostApi } from '../world/git-host-api.ts';
import { type Organization, startWorld, until, type World } from '../world/world.ts';

const absent = '01890000-0000-7000-8000-000000000000';
const path = '/v1/repository-credentials';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
  org = await world.org();
});
afterAll(() => world.close());

test('a credential is stored encrypted and its token never shown', async () => {
  const own = await world.org();
  const token = 'ghp_verySecretToken';
  const made = await own.call('POST', path, { name: 'github', token });
  expect(made.status).toBe(201);
  expect(made.body).toEqual({
    credential: {
      id: expect.any(String),
      name: 'github',
      kind: 'token',
      username: 'x-access-token',
      created_at: expect.any(String),
    },
  });
  const list = await own.call('GET', path);
  expect(list.body).toEqual({ credentials: [made.body.credential] });
  const row = await world.db
    .selectFrom('repository_credential')
    .selectAll()
    .where('id', '=', made.body.credential.id)
    .executeTakeFirstOrThrow();
  expect(row.secret.includes(token)).toBe(false);
});

describe('creating', () => {
  test.each([
    ['no name', { token: 't' }],
    ['an empty name', { name: '', token: 't' }],
    ['a name of 201 characters', { name: 'x'.repeat(201), token: 't' }],
    ['a name with NUL', { name: 'a\0', token: 't' }],
    ['no token', { name: 'x' }],
    ['an empty token', { name: 'x', token: '' }],
    ['a token of a wrong type', { name: 'x', token: 1 }],
    ['a token with a line break', { name: 'x', token: 'a\r\nInjected: header' }],
    ['a token of 8,193 characters', { name: 'x', token: 'x'.repeat(8_193) }],
    ['a token with a lone surrogate', { name: 'x', token: '\ud800' }],
    ['an empty username', { name: 'x', username: '', token: 't' }],
    ['a username with a colon', { name: 'x', username: 'a:b', token: 't' }],
    ['a username of 256 characters', { name: 'x', username: 'x'.repeat(256), token: 't' }],
    ['a username with NUL', { name: 'x', username: 'a\0', token: 't' }],
  ])('%s is refused, and the answer repeats no secret', async (_name, body) => {
    const answer = await org.call('POST', path, body);
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).not.toContain('Injected');
    expect((await org.call('GET', path)).body.credentials).toEqual([]);
  });

  test('the longest token is taken', async () => {
    const own = await world.org();
    expect((await own.call('POST', path, { name: 'x', token: 'é'.repeat(8_192) })).status).toBe(201);
  });

  test('an organization that has 500 credentials is told to delete one', async () => {
    const own = await world.org();
    await sql`
      insert into repository_credential (id, organization_id, name, username, secret, created_at)
      select gen_random_uuid(), ${own.id}, 'c' || n, 'u', '', now() from generate_series(1, 500) as n`.execute(
      world.db,
    );
    const answer = await own.call('POST', path, { name: 'more', token: 't' });
    expect([answer.status, answer.headers.get('x-service-error-code')]).toEqual([409, 'limit_reached']);
  });

  test('a name is taken once in an organization, also when two ask at once', async () => {
    const [one, two] = await Promise.all([world.org(), world.org()]);
    const body = { name: 'same', token: 't' };
    const answers = await Promise.all([1, 2, 3].map(() => one.call('POST', path, body)));
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409]);
    expect((await two.call('POST', path, body)).status).toBe(201);
  });
});

describe('a GitHub App', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const pem = (type: 'pkcs1' | 'pkcs8') => String(privateKey.export({ type, format: 'pem' }));
  const app = { kind: 'github_app', name: 'app', app_id: '12345' };

  test.each(['pkcs1', 'pkcs8'] as const)(
    'is stored with its key in %s, which is never shown',
    async (type) => {
      const own = await world.org();
      const private_key = pem(type);
      const made = await own.call('POST', path, { ...app, private_key });
      expect([made.status, made.body.credential]).toEqual([
        201,
        {
          id: expect.any(String),
          name: 'app',
          kind: 'github_app',
          username: '12345',
          created_at: expect.any(String),
        },
      ]);
      const row = await world.db
        .selectFrom('repository_credential')
        .selectAll()
        .where('id', '=', made.body.credential.id)
        .executeTakeFirstOrThrow();
      expect(row.secret.includes(private_key.slice(100, 160))).toBe(false);
    },
  );

  test.each([
    ['no key', {}],
    ['what is no key', { private_key: 'ghp_verySecretToken' }],
    ['half a key', { private_key: pem('pkcs8').slice(0, 800) }],
    ['a key of another kind', { private_key: ofKind(generateKeyPairSync('ed25519').privateKey) }],
    [
      'a key that is too short',
      { private_key: ofKind(generateKeyPairSync('rsa', { modulusLength: 1_024 }).privateKey) },
    ],
    ['no id', { private_key: pem('pkcs8'), app_id: '' }],
    ['an odd id', { private_key: pem('pkcs8'), app_id: 'a b' }],
    ['another kind of app', { private_key: pem('pkcs8'), kind: 'gitlab_app' }],
  ])('with %s is refused, and the answer repeats no secret', async (_name, body) => {
    const answer = await org.call('POST', path, { ...app, ...body });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).not.toMatch(/BEGIN|verySecret/);
  });

  test('whose installation cannot be found makes the repository say why', async () => {
    const own = await world.org();
    const api = await startGitHostApi({ token: 'unused' });
    try {
      await own.call('PUT', '/v1/organization/git-hosts/git.invalid', {
        kind: 'github',
        api_url: api.githubUrl,
      });
      const { body } = await own.call('POST', path, { ...app, private_key: pem('pkcs8') });
      const made = await own.call('POST', '/v1/repositories', {
        url: 'https://git.invalid/team/app',
        credential_id: body.credential.id,
      });
      const at = `/v1/repositories/${made.body.repository.id}`;
      const repository = await until(async () => {
        const { body: read } = await own.call('GET', at);
        return read.repository.status === 'error' && read.repository;
      });
      expect(repository.error).toContain('GitHub does not know the app 12345');
    } finally {
      await api.close();
    }
  });
});

describe('deleting', () => {
  test('a credential in use stays, and the sentence says who uses it', async () => {
    const own = await world.org();
    const { id } = (await own.call('POST', path, { name: 'c', token: 't' })).body.credential;
    const url = 'https://git.invalid/acme/api';
    const { repository } = (await own.call('POST', '/v1/repositories', { url, credential_id: id })).body;
    const refused = await own.call('DELETE', `${path}/${id}`);
    expect(refused.status).toBe(409);
    expect(refused.headers.get('x-service-error-code')).toBe('credential_in_use');
    expect(refused.body.error).toContain('repository "api"');
    await own.call('PATCH', `/v1/repositories/${repository.id}`, { credential_id: null });
    expect(await own.call('DELETE', `${path}/${id}`)).toMatchObject({ status: 200, body: { success: true } });
    expect((await own.call('DELETE', `${path}/${id}`)).status).toBe(404);
  });

  test('of a delete and a use that race exactly one wins', async () => {
    const own = await world.org();
    for (let round = 0; round < 10; round++) {
      const { id } = (await own.call('POST', path, { name: `c${round}`, token: 't' })).body.credential;
      const url = `https://git.invalid/acme/api-${round}`;
      const [removed, used] = await Promise.all([
        own.call('DELETE', `${path}/${id}`),
        own.call('POST', '/v1/repositories', { url, credential_id: id }),
      ]);
      expect([
        [200, 404],
        [409, 201],
      ]).toContainEqual([removed.status, used.status]);
    }
  });

  test("absent and another organization's are the same 404", async () => {
    const other = await world.org();
    const { id } = (await other.call('POST', path, { name: 'c', token: 't' })).body.credential;
    const [foreign, missing] = await Promise.all([
      org.call('DELETE', `${path}/${id}`),
      org.call('DELETE', `${path}/${absent}`),
    ]);
    expect([foreign.status, foreign.body]).toEqual([404, missing.body]);
    expect((await org.call('DELETE', `${path}/nope`)).status).toBe(404);
  });
});

function ofKind(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }));
}
