import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiError, type Client, createClient } from '../../src/client/client.ts';
import { newId } from '../../src/lib/ids.ts';
import { startWorld, type World } from '../world/world.ts';

let world: World;
let client: Client;
beforeAll(async () => {
  world = await startWorld();
  client = createClient({ baseUrl: `${world.url}/`, token: (await world.org()).key });
});
afterAll(() => world.close());

test('operations are methods that take params, query and body and give the body of the answer', async () => {
  const { environment } = await client.createEnvironment({ body: { name: 'typed' } });
  const params = { environmentId: environment.id };
  await client.createVariable({ params, body: { key: 'A', value: 'é' } });
  const { environment_variables: variables } = await client.listVariables({ params });
  expect(variables).toMatchObject([{ key: 'A', value: 'é' }]);
});

test('a repeat under the same key is done once', async () => {
  const idempotencyKey = newId();
  const make = () => client.createEnvironment({ body: { name: 'once' } }, { idempotencyKey });
  expect(await make()).toEqual(await make());
});

test('a refusal is an error with status, code, details and request id', async () => {
  const refused = client.getEnvironment({ params: { environmentId: newId() } });
  await expect(refused).rejects.toBeInstanceOf(ApiError);
  await expect(refused).rejects.toMatchObject({
    status: 404,
    code: 'not_found',
    details: null,
    requestId: expect.stringMatching(/./),
  });
});

test('a parameter cannot lead to another path', async () => {
  const sneaky = client.getEnvironment({ params: { environmentId: '../me' } });
  await expect(sneaky).rejects.toMatchObject({ status: 404 });
});
