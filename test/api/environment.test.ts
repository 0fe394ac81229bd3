import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type World } from '../world/world.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.close());

describe('environments', () => {
  test('the Global environment appears on first access and only once under a race', async () => {
    const org = await world.org();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => org.call('GET', '/v1/environments/global')),
    );
    const ids = new Set(answers.map((answer) => answer.body.environment.id));
    expect(ids.size).toBe(1);
    expect(answers[0]?.body.environment).toMatchObject({
      name: 'Global',
      is_global: true,
      variable_count: 0,
    });
  });

  test('a created environment is listed after Global with its counts', async () => {
    const org = await world.org();
    const made = await org.call('POST', '/v1/environments', { name: 'web', description: 'x', unknown: 1 });
    expect(made.status).toBe(201);
    const { id } = made.body.environment;
    await org.call('POST', `/v1/environments/${id}/variables`, { key: 'A', value: 'é' });
    const list = await org.call('GET', '/v1/environments');
    expect(list.body.environments.map((e: { name: string }) => e.name)).toEqual(['Global', 'web']);
    expect(list.body.environments[1]).toMatchObject({
      variable_count: 1,
      file_count: 0,
      skill_count: 0,
      mcp_count: 0,
    });
  });
});
