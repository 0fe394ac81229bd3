import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type GitHost, startGitHost } from '../world/git-host.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

const absent = '01890000-0000-7000-8000-000000000000';

let world: World;
let host: GitHost;
let org: Organization;
beforeAll(async () => {
  [world, host] = await Promise.all([
    startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } }),
    startGitHost(),
  ]);
  await host.createRepository('plain.git', { 'README.md': 'hello' });
  org = await world.org();
});
afterAll(async () => {
  await world.close();
  await host.close();
});

let made = 0;
/** A URL that no other test uses. No repository is there, which is no matter for what these tests ask. */
function freshUrl(): string {
  made += 1;
  return host.url(`plain-${made}.git`);
}

async function connect(caller: Organization, body: Record<string, unknown> = {}) {
  const answer = await caller.call('POST', '/v1/repositories', { url: freshUrl(), ...body });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.repository;
}

describe('connecting', () => {
  test('a connected repository is answered at once as checking, listed, and read by id', async () => {
    const own = await world.org();
    const url = host.url('plain.git');
    const answer = await own.call('POST', '/v1/repositories', { url, unknown: true });
    expect(answer.status).toBe(201);
    const { repository } = answer.body;
    expect(repository).toEqual({
      id: expect.any(String),
      name: 'plain',
      url,
      default_branch: null,
      credential_id: null,
      status: 'checking',
      error: null,
      head_commit: null,
      checked_at: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    const list = await own.call('GET', '/v1/repositories');
    expect(list.body.repositories.map((one: { id: string }) => one.id)).toEqual([repository.id]);
    const read = await own.call('GET', `/v1/repositories/${repository.id}`);
    expect(read.body.repository).toMatchObject({ id: repository.id, name: 'plain' });
  });

  test('the list for replicas has four fields, with the branch that was asked for before any check', async () => {
    const own = await world.org();
    const url = freshUrl();
    const { body } = await own.call('POST', '/v1/repositories', { url, name: 'api', default_branch: 'dev' });
    const list = await own.call('GET', '/v1/replica/repositories');
    expect(list.status).toBe(200);
    expect(list.body).toEqual({
      repositories: [
        { id: body.repository.id, name: 'api', url: body.repository.url, default_branch: 'dev' },
      ],
    });
  });

  test.each([
    ['no url', {}, 'url'],
    ['a url of a wrong type', { url: 5 }, 'url'],
    ['an empty url', { url: '' }, 'https://'],
    ['a url that is too long', { url: `https://h.example/${'a'.repeat(5_000)}` }, 'url'],
    ['a url with NUL', { url: 'https://h.example/a\0b' }, 'url'],
    ['an ssh address', { url: 'git@github.com:acme/api.git' }, 'SSH'],
    ['another protocol', { url: 'ext::sh -c id' }, 'spaces'],
    ['a url with a password', { url: 'https://me:secret@h.example/a/b' }, 'credential'],
    ['a url without a repository', { url: 'https://h.example/' }, 'name a repository'],
    ['an empty name', { url: 'https://h.example/a/b', name: ' ' }, 'name'],
    ['a name with a slash', { url: 'https://h.example/a/b', name: 'a/b' }, 'folder name'],
    ['a name of two dots', { url: 'https://h.example/a/b', name: '..' }, 'folder name'],
    ['a name with a line break', { url: 'https://h.example/a/b', name: 'a\nb' }, 'folder name'],
    ['a name of 201 characters', { url: 'https://h.example/a/b', name: 'é'.repeat(201) }, '200'],
    ['a name with a lone surrogate', { url: 'https://h.example/a/b', name: '\ud800' }, 'surrogate'],
    [
      'a url whose last part is too long for a name',
      { url: `https://h.example/${'a'.repeat(201)}` },
      'pass `name`',
    ],
    ['an empty branch', { url: 'https://h.example/a/b', default_branch: '' }, 'branch'],
    [
      'a branch that is an option',
      { url: 'https://h.example/a/b', default_branch: '--upload-pack=id' },
      'branch',
    ],
    ['a branch with dots', { url: 'https://h.example/a/b', default_branch: 'a..b' }, 'branch'],
    ['a branch of a wrong type', { url: 'https://h.example/a/b', default_branch: 1 }, 'default_branch'],
    ['a branch of 256 characters', { url: 'https://h.example/a/b', default_branch: 'a'.repeat(256) }, '255'],
    ['a credential that is no UUID', { url: 'https://h.example/a/b', credential_id: 'x' }, 'credential_id'],
  ])('%s is refused and nothing is stored', async (_name, body, sentence) => {
    const own = await world.org();
    const answer = await own.call('POST', '/v1/repositories', body);
    expect(answer.status).toBe(400);
    expect(answer.body.error).toContain(sentence);
    expect((await own.call('GET', '/v1/repositories')).body.repositories).toEqual([]);
  });

  test('a name of 200 characters beyond ASCII is taken', async () => {
    const name = '日'.repeat(200);
    expect((await connect(org, { name })).name).toBe(name);
  });

  test('an unknown credential is 404', async () => {
    const answer = await org.call('POST', '/v1/repositories', { url: freshUrl(), credential_id: absent });
    expect(answer.status).toBe(404);
    expect(answer.body.error).toBe('Credential not found.');
  });

  test('the same URL in another spelling is 409, also when both come at once', async () => {
    const own = await world.org();
    const url = host.url('plain');
    const spellings = [url, `${url}.git`, `${url}/`, `${url}.git/`, url.replace('http', 'HTTP')];
    const answers = await Promise.all(
      spellings.map((spelling, at) =>
        own.call('POST', '/v1/repositories', { url: spelling, name: `n${at}` }),
      ),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409]);
    const refused = answers.find((answer) => answer.status === 409);
    expect(refused?.headers.get('x-service-error-code')).toBe('already_exists');
    expect(refused?.body.error).toContain('already connected');
  });

  test('a name that is taken is 409 with a sentence that says what to pass', async () => {
    const own = await world.org();
    await own.call('POST', '/v1/repositories', { url: 'https://h.example/one/api' });
    const second = await own.call('POST', '/v1/repositories', { url: 'https://h.example/two/api' });
    expect(second.status).toBe(409);
    expect(second.body.error).toBe('A repository named "api" already exists; pass another `name`.');
    const third = await own.call('POST', '/v1/repositories', {
      url: 'https://h.example/two/api',
      name: 'api-2',
    });
    expect(third.status).toBe(201);
  });

  test('the same request with the same Idempotency-Key connects once', async () => {
    const own = await world.org();
    const send = () =>
      own.call('POST', '/v1/repositories', { url: host.url('plain.git') }, { 'idempotency-key': 'k1' });
    const answers = await Promise.all([send(), send(), send()]);
    expect(new Set(answers.map((answer) => answer.body.repository.id)).size).toBe(1);
    expect((await own.call('GET', '/v1/repositories')).body.repositories).toHaveLength(1);
  });

  test('two organizations connect the same URL and never see each other', async () => {
    const [one, two] = await Promise.all([world.org(), world.org()]);
    const url = host.url('plain.git');
    const mine = (await one.call('POST', '/v1/repositories', { url })).body.repository;
    const theirs = (await two.call('POST', '/v1/repositories', { url })).body.repository;
    expect(mine.id).not.toBe(theirs.id);
    const paths: [string, string, unknown?][] = [
      ['GET', `/v1/repositories/${theirs.id}`],
      ['PATCH', `/v1/repositories/${theirs.id}`, { name: 'x' }],
      ['DELETE', `/v1/repositories/${theirs.id}`],
      ['POST', `/v1/repositories/${theirs.id}/check`],
    ];
    for (const [method, path, body] of paths) {
      const foreign = await one.call(method, path, body);
      const missing = await one.call(method, path.replace(theirs.id, absent), body);
      expect([foreign.status, foreign.body]).toEqual([404, missing.body]);
    }
    expect((await one.call('GET', '/v1/replica/repositories')).body.repositories).toHaveLength(1);
    expect((await two.call('GET', `/v1/repositories/${theirs.id}`)).body.repository.name).toBe('plain');
  });

  test('an organization that has 2,000 repositories is told to disconnect one', async () => {
    const own = await world.org();
    await sql`
      insert into repository (id, organization_id, name, url, url_key, status, checked_at, created_at, updated_at)
      select gen_random_uuid(), ${own.id}, 'r' || n, 'u' || n, 'u' || n, 'error', now(), now(), now()
        from generate_series(1, 2000) as n`.execute(world.db);
    const answer = await own.call('POST', '/v1/repositories', { url: freshUrl() });
    expect([answer.status, answer.headers.get('x-service-error-code')]).toEqual([409, 'limit_reached']);
  });

  test('an id that is no UUID names nothing', async () => {
    expect((await org.call('GET', '/v1/repositories/nope')).status).toBe(404);
  });
});

describe('changing', () => {
  test('only what is given changes, and a new branch starts a check', async () => {
    const own = await world.org();
    const repository = await connect(own, { url: host.url('plain.git') });
    await own.call('POST', `/v1/repositories/${repository.id}/check`);
    const renamed = await own.call('PATCH', `/v1/repositories/${repository.id}`, {
      name: 'renamed',
      url: 'x',
    });
    expect(renamed.body.repository).toMatchObject({
      name: 'renamed',
      url: repository.url,
      status: 'ready',
      default_branch: 'main',
    });
    const branched = await own.call('PATCH', `/v1/repositories/${repository.id}`, { default_branch: 'dev' });
    expect(branched.body.repository).toMatchObject({ status: 'checking', default_branch: 'dev' });
    const same = await own.call('PATCH', `/v1/repositories/${repository.id}`, {});
    expect(same.status).toBe(200);
  });

  test.each([
    ['a name of a wrong type', { name: null }],
    ['an empty name', { name: '' }],
    ['a name with NUL', { name: 'a\0' }],
    ['a bad branch', { default_branch: 'a b' }],
    ['a credential of a wrong type', { credential_id: 7 }],
    ['a body that is no object', []],
  ])('%s is refused', async (_name, body) => {
    const repository = await connect(org, { name: `change-${made}` });
    expect((await org.call('PATCH', `/v1/repositories/${repository.id}`, body)).status).toBe(400);
  });

  test("another repository's name is 409 and a foreign credential 404", async () => {
    const [own, other] = await Promise.all([world.org(), world.org()]);
    await connect(own, { name: 'first' });
    const second = await connect(own, { name: 'second' });
    const path = `/v1/repositories/${second.id}`;
    expect((await own.call('PATCH', path, { name: 'first' })).status).toBe(409);
    const foreign = await other.call('POST', '/v1/repository-credentials', { name: 'c', token: 't' });
    const { id: credential_id } = foreign.body.credential;
    expect((await own.call('PATCH', path, { credential_id })).status).toBe(404);
  });
});

describe('disconnecting', () => {
  test('a repository that nothing uses goes, and a second DELETE is 404', async () => {
    const repository = await connect(org, { name: 'going' });
    const path = `/v1/repositories/${repository.id}`;
    expect(await org.call('DELETE', path)).toMatchObject({ status: 200, body: { success: true } });
    expect((await org.call('DELETE', path)).status).toBe(404);
    expect((await org.call('GET', path)).status).toBe(404);
  });

  test('a repository in use stays, and the sentence says who uses it', async () => {
    const own = await world.org();
    const repository = await connect(own);
    const set = await own.call('POST', '/v1/repository-sets', {
      name: 'all',
      repository_ids: [repository.id],
    });
    const path = `/v1/repositories/${repository.id}`;
    const inSet = await own.call('DELETE', path);
    expect(inSet.status).toBe(409);
    expect(inSet.headers.get('x-service-error-code')).toBe('repository_in_use');
    expect(inSet.body.error).toContain('repository set "all"');
    await own.call('DELETE', `/v1/repository-sets/${set.body.repository_set.id}`);
    const environment = await own.call('POST', '/v1/environments', {
      name: 'web',
      repository_id: repository.id,
    });
    expect(environment.status).toBe(201);
    const bound = await own.call('DELETE', path);
    expect(bound.status).toBe(409);
    expect(bound.body.error).toContain('environment "web"');
    await own.call('PATCH', `/v1/environments/${environment.body.environment.id}`, { repository_id: null });
    expect((await own.call('DELETE', path)).status).toBe(200);
  });

  test('of a delete and a binding that race exactly one wins', async () => {
    const own = await world.org();
    for (let round = 0; round < 10; round++) {
      const { id } = await connect(own, { name: `race-${round}` });
      const [removed, bound] = await Promise.all([
        own.call('DELETE', `/v1/repositories/${id}`),
        own.call('POST', '/v1/environments', { name: `env-${round}`, repository_id: id }),
      ]);
      expect([
        [200, 404],
        [409, 201],
      ]).toContainEqual([removed.status, bound.status]);
      expect((await own.call('GET', `/v1/repositories/${id}`)).status).toBe(
        removed.status === 200 ? 404 : 200,
      );
    }
  });
});

test('an environment is not bound to what the organization does not have', async () => {
  const [own, other] = await Promise.all([world.org(), world.org()]);
  const theirs = await connect(other);
  const set = await other.call('POST', '/v1/repository-sets', { name: 's', repository_ids: [theirs.id] });
  const bindings = [
    { repository_id: theirs.id },
    { repository_id: absent },
    { repository_set_id: set.body.repository_set.id },
    { repository_set_id: absent },
  ];
  for (const binding of bindings) {
    expect((await own.call('POST', '/v1/environments', { name: 'x', ...binding })).status).toBe(404);
  }
});

test('a member reads everything and writes nothing', async () => {
  const own = await world.org();
  const member = await world.person(own, 'member');
  const { id } = await connect(own);
  const set = await own.call('POST', '/v1/repository-sets', { name: 's', repository_ids: [id] });
  const credential = await own.call('POST', '/v1/repository-credentials', { name: 'c', token: 't' });
  const setPath = `/v1/repository-sets/${set.body.repository_set.id}`;
  const readable = [
    '/v1/repositories',
    `/v1/repositories/${id}`,
    '/v1/replica/repositories',
    '/v1/repository-sets',
    setPath,
    '/v1/replica/repository-sets',
    '/v1/repository-credentials',
  ];
  for (const path of readable) expect((await member.call('GET', path)).status, path).toBe(200);
  const refused: [string, string, unknown?][] = [
    ['POST', '/v1/repositories', { url: freshUrl() }],
    ['PATCH', `/v1/repositories/${id}`, { name: 'x' }],
    ['DELETE', `/v1/repositories/${id}`],
    ['POST', `/v1/repositories/${id}/check`],
    ['POST', '/v1/repository-sets', { name: 'x', repository_ids: [id] }],
    ['PATCH', setPath, { name: 'x' }],
    ['DELETE', setPath],
    ['POST', '/v1/repository-credentials', { name: 'x', token: 't' }],
    ['DELETE', `/v1/repository-credentials/${credential.body.credential.id}`],
  ];
  for (const [method, path, body] of refused) {
    expect((await member.call(method, path, body)).status, `${method} ${path}`).toBe(403);
  }
  const admin = await world.person(own, 'admin');
  expect((await admin.call('PATCH', `/v1/repositories/${id}`, { name: 'x' })).status).toBe(200);
});
