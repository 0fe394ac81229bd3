import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../src/db/database.ts';
import { insertGlobal } from '../../src/environment/store.ts';
import { newId } from '../../src/lib/ids.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
beforeAll(async () => {
  world = await startWorld({ environment: { REPLICA_ALLOW_PRIVATE_TARGETS: 'true' } });
});
beforeEach(async () => {
  org = await world.org();
});
afterAll(() => world.close());

async function createEnvironment(body: object = {}): Promise<{ id: string }> {
  const made = await org.call('POST', '/v1/environments', { name: newId(), ...body });
  expect(made.status).toBe(201);
  return made.body.environment;
}

async function createRepository(): Promise<string> {
  const made = await org.call('POST', '/v1/repositories', { url: `https://git.invalid/${newId()}` });
  return made.body.repository.id;
}

async function createSet(repositoryId: string): Promise<string> {
  const made = await org.call('POST', '/v1/repository-sets', {
    name: newId(),
    repository_ids: [repositoryId],
  });
  return made.body.repository_set.id;
}

async function useByAutomation(environmentId: string): Promise<string> {
  const made = await org.call('POST', '/v1/automations', {
    name: 'nightly',
    prompt: 'Say hello.',
    environment_id: environmentId,
    triggers: [{ type: 'custom' }],
  });
  expect(made.status).toBe(201);
  return made.body.automation.id;
}

describe('the Global environment', () => {
  test('appears on first access and only once under a race', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => org.call('GET', '/v1/environments/global')),
    );
    expect(new Set(answers.map((answer) => answer.body.environment.id)).size).toBe(1);
    expect(answers[0]?.body.environment).toMatchObject({
      organization_id: org.id,
      user_id: null,
      name: 'Global',
      is_global: true,
      repository_id: null,
      repository_set_id: null,
    });
  });

  test('is made without a failure by transactions that run at the same moment', async () => {
    const many = openDatabase({
      url: String(world.pool.options.connectionString),
      poolSize: 16,
      log: pino({ level: 'silent' }),
    });
    const at = new Date();
    try {
      for (let round = 0; round < 60; round += 1) {
        const fresh = {
          organization_id: (await world.org()).id,
          name: 'Global',
          created_at: at,
          updated_at: at,
        };
        await Promise.all(Array.from({ length: 16 }, () => insertGlobal(many.db, { ...fresh, id: newId() })));
      }
    } finally {
      await many.close();
    }
  });

  test('is made by the list and by anything attached to it', async () => {
    const first = await org.call('POST', '/v1/environments/global/variables', { key: 'A', value: '1' });
    expect(first.status).toBe(201);
    const list = await org.call('GET', '/v1/environments');
    expect(list.body.environments).toMatchObject([{ is_global: true, variable_count: 1 }]);
  });

  test('can be named by its id as well as by the word', async () => {
    const { body } = await org.call('GET', '/v1/environments/global');
    const byId = await org.call('GET', `/v1/environments/${body.environment.id}`);
    expect(byId.body).toEqual(body);
  });

  test('cannot be edited or deleted, by either name', async () => {
    const { body } = await org.call('GET', '/v1/environments/global');
    for (const name of ['global', body.environment.id]) {
      const edited = await org.call('PATCH', `/v1/environments/${name}`, { description: 'x' });
      expect([edited.status, edited.headers.get('x-service-error-code')]).toEqual([
        400,
        'global_environment_immutable',
      ]);
      const deleted = await org.call('DELETE', `/v1/environments/${name}`);
      expect([deleted.status, deleted.headers.get('x-service-error-code')]).toEqual([
        409,
        'global_environment_undeletable',
      ]);
    }
  });

  test('keeps its name to itself', async () => {
    expect((await org.call('POST', '/v1/environments', { name: 'Global' })).status).toBe(409);
  });
});

describe('environments', () => {
  test('a created one has what was given, no binding, and a warm pool that is on', async () => {
    const made = await org.call('POST', '/v1/environments', {
      name: 'web',
      description: 'The site',
      system_prompt: 'Be brief.',
      unknown: 'ignored',
    });
    expect(made.status).toBe(201);
    expect(made.body.environment).toMatchObject({
      name: 'web',
      description: 'The site',
      system_prompt: 'Be brief.',
      is_global: false,
      variable_count: 0,
      file_count: 0,
      skill_count: 0,
      mcp_count: 0,
    });
    const hooks = await org.call('GET', `/v1/environments/${made.body.environment.id}/warm-hooks`);
    expect(hooks.body.warm_pool).toMatchObject({ enabled: true, target_size: 0, generation: 1 });
  });

  test('the list has Global first and the right counts', async () => {
    const { id } = await createEnvironment({ name: 'web' });
    await org.call('POST', `/v1/environments/${id}/variables`, { key: 'A', value: '1' });
    await org.call('POST', `/v1/environments/${id}/variables`, { key: 'B', value: '2' });
    await org.call('POST', `/v1/environments/${id}/files`, { name: 'f', path: '~/f', content: 'x' });
    await org.call('POST', `/v1/environments/${id}/skills`, {
      name: 's',
      slug: 's',
      source: 'https://skills.invalid/s',
    });
    await org.call('POST', `/v1/environments/${id}/mcps`, {
      name: 'm',
      transport: 'stdio',
      config: { command: 'm' },
    });
    const { body } = await org.call('GET', '/v1/environments');
    expect(body.environments.map((environment: { name: string }) => environment.name)).toEqual([
      'Global',
      'web',
    ]);
    expect(body.environments[1]).toMatchObject({
      variable_count: 2,
      file_count: 1,
      skill_count: 1,
      mcp_count: 1,
    });
    expect(body.environments[0]).toMatchObject({ variable_count: 0 });
  });

  test('a name is taken once in an organization, also under a race, and free in another', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => org.call('POST', '/v1/environments', { name: 'one' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    const other = await world.org();
    expect((await other.call('POST', '/v1/environments', { name: 'one' })).status).toBe(201);
  });

  test.each([
    ['no name', {}],
    ['an empty name', { name: ' ' }],
    ['a name of another type', { name: 7 }],
    ['a name that is too long', { name: 'x'.repeat(201) }],
    ['a NUL in the name', { name: 'a\0b' }],
    ['a lone surrogate in the name', { name: '\ud800' }],
    ['both bindings', { name: 'x', repository_id: newId(), repository_set_id: newId() }],
    ['a repository id that is none', { name: 'x', repository_id: 'nope' }],
    ['a prompt that is too long', { name: 'x', system_prompt: 'x'.repeat(100_001) }],
  ])('%s is refused with 400 and stores nothing', async (_what, body) => {
    expect((await org.call('POST', '/v1/environments', body)).status).toBe(400);
    expect((await org.call('GET', '/v1/environments')).body.environments).toHaveLength(1);
  });

  test('an unknown or foreign repository or set is 404 and stores nothing', async () => {
    const other = await world.org();
    const foreign = await other.call('POST', '/v1/repositories', { url: 'https://git.invalid/theirs' });
    const bindings = [
      { repository_id: newId() },
      { repository_set_id: newId() },
      { repository_id: foreign.body.repository.id },
    ];
    for (const binding of bindings) {
      expect((await org.call('POST', '/v1/environments', { name: 'x', ...binding })).status).toBe(404);
    }
    expect((await org.call('GET', '/v1/environments')).body.environments).toHaveLength(1);
  });

  test('PATCH changes only what is given and null clears', async () => {
    const { id } = await createEnvironment({ name: 'before', description: 'd', system_prompt: 'p' });
    const renamed = await org.call('PATCH', `/v1/environments/${id}`, { name: 'after' });
    expect(renamed.body.environment).toMatchObject({ name: 'after', description: 'd', system_prompt: 'p' });
    const cleared = await org.call('PATCH', `/v1/environments/${id}`, { description: null });
    expect(cleared.body.environment).toMatchObject({ name: 'after', description: null, system_prompt: 'p' });
  });

  test('PATCH to a name that is taken is 409 and changes nothing', async () => {
    await createEnvironment({ name: 'taken' });
    const { id } = await createEnvironment({ name: 'mine' });
    expect(
      (await org.call('PATCH', `/v1/environments/${id}`, { name: 'taken', description: 'x' })).status,
    ).toBe(409);
    const { body } = await org.call('GET', `/v1/environments/${id}`);
    expect(body.environment).toMatchObject({ name: 'mine', description: null });
  });

  test('binding to one kind replaces the other', async () => {
    const repositoryId = await createRepository();
    const setId = await createSet(repositoryId);
    const { id } = await createEnvironment({ repository_id: repositoryId });
    const toSet = await org.call('PATCH', `/v1/environments/${id}`, { repository_set_id: setId });
    expect(toSet.body.environment).toMatchObject({ repository_id: null, repository_set_id: setId });
    const unbound = await org.call('PATCH', `/v1/environments/${id}`, { repository_set_id: null });
    expect(unbound.body.environment).toMatchObject({ repository_id: null, repository_set_id: null });
  });

  test('two requests that bind at the same time leave one binding', async () => {
    const repositoryId = await createRepository();
    const setId = await createSet(repositoryId);
    const { id } = await createEnvironment();
    const answers = await Promise.all([
      org.call('PATCH', `/v1/environments/${id}`, { repository_id: repositoryId }),
      org.call('PATCH', `/v1/environments/${id}`, { repository_set_id: setId }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    const { body } = await org.call('GET', `/v1/environments/${id}`);
    expect([body.environment.repository_id, body.environment.repository_set_id].filter(Boolean)).toHaveLength(
      1,
    );
  });

  test('a change of the binding bumps the generation, a change of the name does not', async () => {
    const repositoryId = await createRepository();
    const { id } = await createEnvironment();
    const generation = async () =>
      (await org.call('GET', `/v1/environments/${id}/warm-hooks`)).body.warm_pool.generation;
    await org.call('PATCH', `/v1/environments/${id}`, { name: newId() });
    expect(await generation()).toBe(1);
    await org.call('PATCH', `/v1/environments/${id}`, { repository_id: repositoryId });
    expect(await generation()).toBe(2);
    await org.call('PATCH', `/v1/environments/${id}`, { repository_id: repositoryId });
    expect(await generation()).toBe(2);
  });

  test('one that an automation uses keeps its binding but may be renamed', async () => {
    const repositoryId = await createRepository();
    const { id } = await createEnvironment({ repository_id: repositoryId });
    await useByAutomation(id);
    const rebound = await org.call('PATCH', `/v1/environments/${id}`, { repository_id: null });
    expect([rebound.status, rebound.headers.get('x-service-error-code')]).toEqual([
      409,
      'environment_in_use',
    ]);
    const same = await org.call('PATCH', `/v1/environments/${id}`, {
      name: 'renamed',
      repository_id: repositoryId,
    });
    expect(same.body.environment).toMatchObject({ name: 'renamed', repository_id: repositoryId });
  });

  test('one that an automation uses cannot be deleted', async () => {
    const { id } = await createEnvironment();
    const automationId = await useByAutomation(id);
    const deleted = await org.call('DELETE', `/v1/environments/${id}`);
    expect([deleted.status, deleted.headers.get('x-service-error-code')]).toEqual([
      409,
      'environment_in_use',
    ]);
    expect((await org.call('GET', `/v1/environments/${id}`)).status).toBe(200);
    await org.call('DELETE', `/v1/automations/${automationId}`);
    expect((await org.call('DELETE', `/v1/environments/${id}`)).status).toBe(200);
  });

  test('DELETE removes it with everything attached; a second one is 404', async () => {
    const { id } = await createEnvironment();
    await org.call('POST', `/v1/environments/${id}/variables`, { key: 'A', value: '1' });
    expect((await org.call('DELETE', `/v1/environments/${id}`)).body).toEqual({ success: true });
    expect((await org.call('DELETE', `/v1/environments/${id}`)).status).toBe(404);
    expect((await org.call('GET', `/v1/environments/${id}/variables`)).status).toBe(404);
    const rows = await world.db
      .selectFrom('environment_variable')
      .select('id')
      .where('environment_id', '=', id)
      .execute();
    expect(rows).toEqual([]);
  });

  test('writes that race with the deletion are 201 or 404, never 500', async () => {
    const { id } = await createEnvironment();
    const answers = await Promise.all([
      ...Array.from({ length: 8 }, (_, n) =>
        org.call('POST', `/v1/environments/${id}/variables`, { key: `K${n}`, value: '1' }),
      ),
      org.call('DELETE', `/v1/environments/${id}`),
    ]);
    expect(answers.at(-1)?.status).toBe(200);
    for (const { status } of answers.slice(0, -1)) expect([201, 404]).toContain(status);
  });

  test.each(['nope', '%00', '..%2f..', 'GLOBAL', '0'.repeat(900)])('the id %s is 404', async (name) => {
    expect((await org.call('GET', `/v1/environments/${name}`)).status).toBe(404);
  });
});
