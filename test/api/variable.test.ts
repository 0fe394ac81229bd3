import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../src/lib/ids.ts';
import { type Organization, startWorld, type World } from '../world/world.ts';

let world: World;
let org: Organization;
let variables: string;
beforeAll(async () => {
  world = await startWorld();
});
beforeEach(async () => {
  org = await world.org();
  const { body } = await org.call('POST', '/v1/environments', { name: 'web' });
  variables = `/v1/environments/${body.environment.id}/variables`;
});
afterAll(() => world.close());

describe('environment variables', () => {
  test('a value comes back in clear and is sealed in the database', async () => {
    const value = 'sk-very-secret ✓ \n line';
    const made = await org.call('POST', variables, { key: 'TOKEN', value });
    expect(made.status).toBe(201);
    expect(made.body.environment_variable).toMatchObject({ key: 'TOKEN', value });
    const list = await org.call('GET', variables);
    expect(list.body.environment_variables).toEqual([made.body.environment_variable]);
    const row = await world.db
      .selectFrom('environment_variable')
      .select('value')
      .where('id', '=', made.body.environment_variable.id)
      .executeTakeFirstOrThrow();
    expect(row.value.includes('very-secret')).toBe(false);
  });

  test('a sealed value moved to another row does not open', async () => {
    const first = await org.call('POST', variables, { key: 'A', value: 'a' });
    const second = await org.call('POST', variables, { key: 'B', value: 'b' });
    const { value } = await world.db
      .selectFrom('environment_variable')
      .select('value')
      .where('id', '=', first.body.environment_variable.id)
      .executeTakeFirstOrThrow();
    await world.db
      .updateTable('environment_variable')
      .set({ value })
      .where('id', '=', second.body.environment_variable.id)
      .execute();
    const answer = await org.call('GET', variables);
    expect(answer.status).toBe(500);
    expect(JSON.stringify(answer.body)).not.toContain('environment_variable');
  });

  test('a key is taken once per environment, also under a race', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) => org.call('POST', variables, { key: 'ONE', value: String(n) })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    expect(
      (await org.call('POST', '/v1/environments/global/variables', { key: 'ONE', value: '' })).status,
    ).toBe(201);
  });

  test('PATCH changes the value, the key, or both', async () => {
    const made = await org.call('POST', variables, { key: 'A', value: '1' });
    await org.call('POST', variables, { key: 'TAKEN', value: '1' });
    const one = `${variables}/${made.body.environment_variable.id}`;
    expect((await org.call('PATCH', one, { value: '2' })).body.environment_variable).toMatchObject({
      key: 'A',
      value: '2',
    });
    expect((await org.call('PATCH', one, { key: 'B' })).body.environment_variable).toMatchObject({
      key: 'B',
      value: '2',
    });
    expect((await org.call('PATCH', one, {})).status).toBe(200);
    expect((await org.call('PATCH', one, { key: 'TAKEN' })).status).toBe(409);
    expect((await org.call('PATCH', one, { key: 'not valid' })).status).toBe(400);
    const list = await org.call('GET', variables);
    expect(list.body.environment_variables).toMatchObject([{ key: 'B', value: '2' }, { key: 'TAKEN' }]);
  });

  test('each change bumps the generation; a change of Global bumps every pool of the organization', async () => {
    const generation = async () =>
      (await org.call('GET', variables.replace('/variables', '/warm-hooks'))).body.warm_pool.generation;
    const made = await org.call('POST', variables, { key: 'A', value: '1' });
    expect(await generation()).toBe(2);
    await org.call('PATCH', `${variables}/${made.body.environment_variable.id}`, { value: '2' });
    expect(await generation()).toBe(3);
    await org.call('PATCH', `${variables}/${made.body.environment_variable.id}`, { value: '2' });
    expect(await generation()).toBe(3);
    await org.call('DELETE', `${variables}/${made.body.environment_variable.id}`);
    expect(await generation()).toBe(4);
    await org.call('POST', '/v1/environments/global/variables', { key: 'A', value: '1' });
    expect(await generation()).toBe(5);
  });

  test.each([
    ['no key', { value: '1' }, 400],
    ['no value', { key: 'A' }, 400],
    ['a value of another type', { key: 'A', value: 1 }, 400],
    ['a key that starts with a digit', { key: '1A', value: '' }, 400],
    ['a key with a dash', { key: 'A-B', value: '' }, 400],
    ['a key with a newline at its end', { key: 'A\n', value: '' }, 400],
    ['a key that is too long', { key: 'A'.repeat(256), value: '' }, 400],
    ['the longest key', { key: 'A'.repeat(255), value: '' }, 201],
    ['an empty value', { key: 'A', value: '' }, 201],
    ['a NUL in the value', { key: 'A', value: 'a\0' }, 400],
    ['65,536 bytes of multi-byte text', { key: 'A', value: 'é'.repeat(32_768) }, 201],
    ['65,537 bytes of multi-byte text', { key: 'A', value: `${'é'.repeat(32_768)}x` }, 400],
  ])('%s: %s', async (_what, body, status) => {
    expect((await org.call('POST', variables, body)).status).toBe(status);
    expect((await org.call('GET', variables)).body.environment_variables).toHaveLength(
      status === 201 ? 1 : 0,
    );
  });

  test('an environment holds 500 variables', async () => {
    const at = new Date();
    const environment_id = variables.split('/')[3] ?? '';
    const rows = Array.from({ length: 499 }, (_, n) => {
      const id = newId();
      return {
        id,
        organization_id: org.id,
        environment_id,
        key: `K${n}`,
        value: Buffer.alloc(0),
        created_at: at,
        updated_at: at,
      };
    });
    await world.db.insertInto('environment_variable').values(rows).execute();
    const answers = await Promise.all(
      Array.from({ length: 4 }, (_, n) => org.call('POST', variables, { key: `LAST${n}`, value: '1' })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409]);
  });

  test('the values of an environment hold 1 MiB together', async () => {
    const value = 'x'.repeat(65_000);
    for (let n = 0; n < 16; n++) {
      expect((await org.call('POST', variables, { key: `K${n}`, value })).status).toBe(201);
    }
    const over = await org.call('POST', variables, { key: 'OVER', value });
    expect([over.status, over.headers.get('x-service-error-code')]).toEqual([409, 'limit_reached']);
  });

  test('a variable is only found under its own environment', async () => {
    const made = await org.call('POST', variables, { key: 'A', value: '1' });
    const { id } = made.body.environment_variable;
    expect((await org.call('PATCH', `/v1/environments/global/variables/${id}`, { value: '2' })).status).toBe(
      404,
    );
    expect((await org.call('DELETE', `/v1/environments/global/variables/${id}`)).status).toBe(404);
    expect((await org.call('DELETE', `${variables}/${newId()}`)).status).toBe(404);
    expect((await org.call('DELETE', `${variables}/${id}`)).body).toEqual({ success: true });
  });
});
