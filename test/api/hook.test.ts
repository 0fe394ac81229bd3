import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let other: Organization;
beforeAll(async () => {
  world = await startWorld();
  org = await world.org();
  other = await world.org();
});
afterAll(() => world.close());

const kinds = [
  ['warm', 'warm_hook'],
  ['start', 'start_hook'],
] as const;

describe.each(kinds)('a %s hook', (kind, field) => {
  test('is saved, read and replaced by the next version', async () => {
    const hooks = await makePath(org, kind);
    expect((await org.call('GET', hooks)).body[field]).toBeNull();
    const first = await org.call('POST', `${hooks}/save`, { content: 'npm ci\n' });
    expect(first.status).toBe(201);
    expect(first.body).toEqual({
      [field]: {
        id: expect.any(String),
        organization_id: org.id,
        environment_id: hooks.split('/')[3],
        version: 1,
        content: 'npm ci\n',
        is_active: true,
        created_at: expect.any(String),
      },
    });
    expect((await org.call('GET', hooks)).body[field]).toEqual(first.body[field]);
    const second = await org.call('POST', `${hooks}/save`, { content: 'npm ci\n' });
    expect(second.body[field]).toMatchObject({ version: 2, is_active: true });
    expect((await org.call('GET', hooks)).body[field]).toEqual(second.body[field]);
    expect(await versions(hooks, kind)).toEqual([
      [1, false],
      [2, true],
    ]);
  });

  test('is cleared by empty content, and versions go on from there', async () => {
    const hooks = await makePath(org, kind);
    await org.call('POST', `${hooks}/save`, { content: 'a' });
    for (const content of ['', ' \n']) {
      const cleared = await org.call('POST', `${hooks}/save`, { content });
      expect(cleared.status).toBe(201);
      expect(cleared.body).toEqual({ [field]: null });
      expect((await org.call('GET', hooks)).body[field]).toBeNull();
    }
    const next = await org.call('POST', `${hooks}/save`, { content: 'b' });
    expect(next.body[field].version).toBe(2);
  });

  test('saved by many at once gets every version once, and the newest is active', async () => {
    const hooks = await makePath(org, kind);
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        org.call('POST', `${hooks}/save`, { content: `echo ${index}` }),
      ),
    );
    const saved = answers.map(({ body }) => body[field].version).sort((a, b) => a - b);
    expect(saved).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect(await versions(hooks, kind)).toEqual(saved.map((version) => [version, version === 12]));
  });

  test('of the Global environment is reached by its name', async () => {
    const saved = await org.call('POST', `/v1/environments/global/${kind}-hooks/save`, { content: 'a' });
    expect(saved.status).toBe(201);
    expect((await org.call('GET', `/v1/environments/global/${kind}-hooks`)).body[field]).toEqual(
      saved.body[field],
    );
  });

  test('holds 65,536 bytes and not one more', async () => {
    const hooks = await makePath(org, kind);
    const content = `${'€'.repeat(21_845)}a`;
    expect((await org.call('POST', `${hooks}/save`, { content: `${content}a` })).status).toBe(400);
    const saved = await org.call('POST', `${hooks}/save`, { content });
    expect(saved.body[field]).toMatchObject({ version: 1, content });
  });

  test('is saved once for one Idempotency-Key', async () => {
    const hooks = await makePath(org, kind);
    const save = () =>
      org.call('POST', `${hooks}/save`, { content: 'a' }, { 'idempotency-key': `once-${hooks}` });
    const [first, second] = [await save(), await save()];
    expect(second.body).toEqual(first.body);
    expect(await versions(hooks, kind)).toEqual([[1, true]]);
  });

  test.each([
    [{}],
    [{ content: null }],
    [{ content: 7 }],
    [{ content: ['a'] }],
    [{ content: 'a\0' }],
    ['{"content":"\\udc00"}'],
    ['[]'],
    ['{'],
  ])('is not saved from %j', async (body) => {
    const hooks = await makePath(org, kind);
    await org.call('POST', `${hooks}/save`, { content: 'a' });
    expect((await org.call('POST', `${hooks}/save`, body)).status).toBe(400);
    expect(await versions(hooks, kind)).toEqual([[1, true]]);
  });

  test('of an environment that is absent, foreign or no id is 404', async () => {
    const hooks = await makePath(other, kind);
    const absent = hooks.replace(hooks.split('/')[3] ?? '', newId());
    for (const place of [hooks, absent, `/v1/environments/nothing/${kind}-hooks`]) {
      expect((await org.call('GET', place)).status).toBe(404);
      expect((await org.call('GET', `${place}/repository-hooks`)).status).toBe(404);
      expect((await org.call('POST', `${place}/save`, { content: 'a' })).status).toBe(404);
    }
    expect((await other.call('GET', hooks)).body[field]).toBeNull();
    expect((await world.call('POST', `${hooks}/save`, { content: 'a' })).status).toBe(401);
  });

  test('of a repository is none when the environment is unbound', async () => {
    const hooks = await makePath(org, kind);
    const answer = await org.call('GET', `${hooks}/repository-hooks`);
    expect(answer.body).toEqual({ repository_hooks: [], error: null });
  });
});

test('the two kinds have versions of their own', async () => {
  const warm = await makePath(org, 'warm');
  const start = warm.replace('warm-hooks', 'start-hooks');
  await org.call('POST', `${warm}/save`, { content: 'a' });
  await org.call('POST', `${warm}/save`, { content: 'b' });
  const saved = await org.call('POST', `${start}/save`, { content: 'c' });
  expect(saved.body.start_hook.version).toBe(1);
  expect((await org.call('GET', warm)).body.warm_hook.content).toBe('b');
});

test('a warm hook makes the warm pool older, a start hook does not', async () => {
  const warm = await makePath(org, 'warm');
  const start = warm.replace('warm-hooks', 'start-hooks');
  const generation = async () => (await org.call('GET', warm)).body.warm_pool.generation;
  expect(await generation()).toBe(1);
  await org.call('POST', `${start}/save`, { content: 'a' });
  expect(await generation()).toBe(1);
  await org.call('POST', `${warm}/save`, { content: '' });
  expect(await generation()).toBe(1);
  await org.call('POST', `${warm}/save`, { content: 'a' });
  expect(await generation()).toBe(2);
  await org.call('POST', `${warm}/save`, { content: 'a' });
  expect(await generation()).toBe(2);
  await org.call('POST', `${warm}/save`, { content: '' });
  expect(await generation()).toBe(3);
});

async function makePath(owner: Organization, kind: 'warm' | 'start'): Promise<string> {
  const { body } = await owner.call('POST', '/v1/environments', { name: newId() });
  return `/v1/environments/${body.environment.id}/${kind}-hooks`;
}

async function versions(path: string, kind: string): Promise<[number, boolean][]> {
  const rows = await world.db
    .selectFrom('hook')
    .select(['version', 'is_active'])
    .where('environment_id', '=', path.split('/')[3] ?? '')
    .where('kind', '=', kind)
    .orderBy('version')
    .execute();
  return rows.map((row) => [row.version, row.is_active]);
}
