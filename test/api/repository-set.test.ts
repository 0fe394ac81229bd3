import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Organization, startWorld, type World } from '../world/world.ts';

const absent = '01890000-0000-7000-8000-000000000000';

let world: World;
let org: Organization;
let ids: string[];
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
  org = await world.org();
  ids = await connectSome(org, 3);
});
afterAll(() => world.close());

/** Repositories of a folder that does not exist: these tests are about sets, not about what git finds. */
async function connectSome(caller: Organization, count: number): Promise<string[]> {
  const answers = [];
  for (let at = 0; at < count; at++) {
    answers.push(await caller.call('POST', '/v1/repositories', { url: `file:///nonexistent/r${at}` }));
  }
  return answers.map((answer) => answer.body.repository.id);
}

async function makeSet(caller: Organization, body: Record<string, unknown>) {
  const answer = await caller.call('POST', '/v1/repository-sets', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.repository_set;
}

const memberIds = (set: { repositories: { id: string }[] }) => set.repositories.map((member) => member.id);

test('a set keeps its repositories in the order given', async () => {
  const own = await world.org();
  const [a = '', b = '', c = ''] = await connectSome(own, 3);
  const set = await makeSet(own, { name: 'all', description: 'd', repository_ids: [c, a, b] });
  expect(set).toEqual({
    id: expect.any(String),
    name: 'all',
    description: 'd',
    repositories: [
      { id: c, name: 'r2', url: 'file:///nonexistent/r2', default_branch: null },
      { id: a, name: 'r0', url: 'file:///nonexistent/r0', default_branch: null },
      { id: b, name: 'r1', url: 'file:///nonexistent/r1', default_branch: null },
    ],
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  const read = await own.call('GET', `/v1/repository-sets/${set.id}`);
  expect(read.body.repository_set).toEqual(set);
  expect((await own.call('GET', '/v1/repository-sets')).body.repository_sets).toEqual([set]);
  const { created_at, updated_at, ...summary } = set;
  const forReplicas = await own.call('GET', '/v1/replica/repository-sets');
  expect(forReplicas.body).toEqual({ repository_sets: [summary] });
});

describe('creating', () => {
  const one = () => [ids[0]];
  test.each([
    ['no name', () => ({ repository_ids: one() })],
    ['an empty name', () => ({ name: '  ', repository_ids: one() })],
    ['a name of 201 characters', () => ({ name: 'x'.repeat(201), repository_ids: one() })],
    ['a name with NUL', () => ({ name: 'a\0', repository_ids: one() })],
    [
      'a description of 2,001 characters',
      () => ({ name: 'x', description: 'x'.repeat(2_001), repository_ids: one() }),
    ],
    ['no repositories', () => ({ name: 'x' })],
    ['an empty list', () => ({ name: 'x', repository_ids: [] })],
    ['a list of a wrong type', () => ({ name: 'x', repository_ids: ids[0] })],
    ['an id that is no UUID', () => ({ name: 'x', repository_ids: ['nope'] })],
    ['a repository twice', () => ({ name: 'x', repository_ids: [ids[0], ids[0]] })],
    [
      'a repository twice in other letters',
      () => ({ name: 'x', repository_ids: [ids[0], ids[0]?.toUpperCase()] }),
    ],
    [
      '51 repositories',
      () => ({ name: 'x', repository_ids: Array.from({ length: 51 }, () => crypto.randomUUID()) }),
    ],
  ])('%s is refused', async (_name, body) => {
    const before = (await org.call('GET', '/v1/repository-sets')).body.repository_sets.length;
    expect((await org.call('POST', '/v1/repository-sets', body())).status).toBe(400);
    expect((await org.call('GET', '/v1/repository-sets')).body.repository_sets).toHaveLength(before);
  });

  test('50 repositories are taken', async () => {
    const own = await world.org();
    const fifty = await connectSome(own, 50);
    expect(memberIds(await makeSet(own, { name: 'many', repository_ids: fifty }))).toEqual(fifty);
  });

  test('an unknown and a foreign repository are the same 404', async () => {
    const other = await world.org();
    const [foreign] = await connectSome(other, 1);
    for (const id of [absent, foreign]) {
      const answer = await org.call('POST', '/v1/repository-sets', {
        name: 'y',
        repository_ids: [ids[0], id],
      });
      expect([answer.status, answer.body.error]).toEqual([404, 'Repository not found.']);
    }
  });

  test('an organization that has 500 sets is told to delete one', async () => {
    const own = await world.org();
    const repository_ids = await connectSome(own, 1);
    await sql`
      insert into repository_set (id, organization_id, name, created_at, updated_at)
      select gen_random_uuid(), ${own.id}, 's' || n, now(), now() from generate_series(1, 500) as n`.execute(
      world.db,
    );
    const answer = await own.call('POST', '/v1/repository-sets', { name: 'more', repository_ids });
    expect([answer.status, answer.headers.get('x-service-error-code')]).toEqual([409, 'limit_reached']);
  });

  test('a name is taken once, also when two ask at once', async () => {
    const own = await world.org();
    const repository_ids = await connectSome(own, 1);
    const answers = await Promise.all(
      [1, 2, 3].map(() => own.call('POST', '/v1/repository-sets', { name: 'same', repository_ids })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409]);
  });
});

describe('changing', () => {
  test('only what is given changes, and the list is replaced as a whole', async () => {
    const own = await world.org();
    const [a = '', b = ''] = await connectSome(own, 2);
    const { id } = await makeSet(own, { name: 'one', description: 'd', repository_ids: [a, b] });
    const path = `/v1/repository-sets/${id}`;
    const renamed = await own.call('PATCH', path, { name: 'two' });
    expect(renamed.body.repository_set).toMatchObject({ name: 'two', description: 'd' });
    expect(memberIds(renamed.body.repository_set)).toEqual([a, b]);
    const swapped = await own.call('PATCH', path, { description: null, repository_ids: [b, a] });
    expect(swapped.body.repository_set).toMatchObject({ name: 'two', description: null });
    expect(memberIds(swapped.body.repository_set)).toEqual([b, a]);
    expect((await own.call('PATCH', path, { repository_ids: [absent] })).status).toBe(404);
    expect((await own.call('PATCH', path, { repository_ids: [] })).status).toBe(400);
    expect((await own.call('PATCH', path, { name: null })).status).toBe(400);
    await makeSet(own, { name: 'taken', repository_ids: [a] });
    expect((await own.call('PATCH', path, { name: 'taken' })).status).toBe(409);
  });

  test('lists that are replaced at the same time leave one of them, whole', async () => {
    const own = await world.org();
    const members = await connectSome(own, 4);
    const { id } = await makeSet(own, { name: 'raced', repository_ids: members });
    const wanted = [members.slice(0, 2), members.slice(2), members.toReversed()];
    const answers = await Promise.all(
      wanted.map((repository_ids) => own.call('PATCH', `/v1/repository-sets/${id}`, { repository_ids })),
    );
    expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200]);
    const read = await own.call('GET', `/v1/repository-sets/${id}`);
    expect(wanted).toContainEqual(memberIds(read.body.repository_set));
  });

  test('another list makes the warm workspaces of bound environments stale, the same list does not', async () => {
    const own = await world.org();
    const [a = '', b = ''] = await connectSome(own, 2);
    const { id } = await makeSet(own, { name: 'bound', repository_ids: [a] });
    const bound = await own.call('POST', '/v1/environments', { name: 'e', repository_set_id: id });
    const generation = async () => {
      const pool = await world.db
        .selectFrom('warm_pool')
        .select('generation')
        .where('environment_id', '=', bound.body.environment.id)
        .executeTakeFirstOrThrow();
      return pool.generation;
    };
    const before = await generation();
    await own.call('PATCH', `/v1/repository-sets/${id}`, { name: 'other', repository_ids: [a] });
    expect(await generation()).toBe(before);
    await own.call('PATCH', `/v1/repository-sets/${id}`, { repository_ids: [a, b] });
    expect(await generation()).toBe(before + 1);
  });
});

describe('deleting', () => {
  test('a set with a bound environment stays; its repositories stay when it goes', async () => {
    const own = await world.org();
    const repository_ids = await connectSome(own, 2);
    const { id } = await makeSet(own, { name: 'held', repository_ids });
    const bound = await own.call('POST', '/v1/environments', { name: 'web', repository_set_id: id });
    const refused = await own.call('DELETE', `/v1/repository-sets/${id}`);
    expect(refused.status).toBe(409);
    expect(refused.body.error).toContain('environment "web"');
    await own.call('DELETE', `/v1/environments/${bound.body.environment.id}`);
    expect((await own.call('DELETE', `/v1/repository-sets/${id}`)).status).toBe(200);
    expect((await own.call('DELETE', `/v1/repository-sets/${id}`)).status).toBe(404);
    expect((await own.call('GET', '/v1/repositories')).body.repositories).toHaveLength(2);
  });

  test('of a delete and a binding that race exactly one wins', async () => {
    const own = await world.org();
    const repository_ids = await connectSome(own, 1);
    for (let round = 0; round < 10; round++) {
      const { id } = await makeSet(own, { name: `s${round}`, repository_ids });
      const [removed, bound] = await Promise.all([
        own.call('DELETE', `/v1/repository-sets/${id}`),
        own.call('POST', '/v1/environments', { name: `e${round}`, repository_set_id: id }),
      ]);
      expect([
        [200, 404],
        [409, 201],
      ]).toContainEqual([removed.status, bound.status]);
    }
  });
});

test("another organization's set is 404 everywhere", async () => {
  const other = await world.org();
  const repository_ids = await connectSome(other, 1);
  const { id } = await makeSet(other, { name: 'theirs', repository_ids });
  const path = `/v1/repository-sets/${id}`;
  for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const) {
    expect((await org.call(method, path, body)).status).toBe(404);
  }
});
