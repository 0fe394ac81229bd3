import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { identityEndpoints } from '../../src/account/identity-endpoints.ts';
import { openApiDocument } from '../../src/contract/openapi.ts';
import { errorsOf } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { version } from '../../src/lib/version.ts';
import { startWorld, type World } from '../world/world.ts';
import { operationNames, operationOf } from './call.ts';
import { examples } from './examples.ts';
import { describedOf } from './published.ts';
import { listRoutes } from './routes.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.close());

/** That requests and answers are what the document says is seen wherever every operation is called: in walk.test.ts. */
describe('the OpenAPI document', () => {
  test('at /openapi.json is what the contract makes', async () => {
    const { body } = await world.call('GET', '/openapi.json');
    const made = openApiDocument(operations, { baseUrl: world.url, version });
    expect(body).toEqual(JSON.parse(JSON.stringify(made)));
  });

  test('names each operation once, with every answer and error it can give', () => {
    for (const name of operationNames) {
      const described = describedOf(name) as ReturnType<typeof describedOf> & { operationId: string };
      expect(described.operationId).toBe(name);
      const codes = Object.values(described.responses).flatMap(
        ({ headers }) => headers?.['x-service-error-code']?.schema.enum ?? [],
      );
      expect(codes.sort(), name).toEqual(errorsOf(operationOf(name)).sort());
      expect(Object.keys(described.responses)).toEqual(
        expect.arrayContaining(Object.keys(operationOf(name).answers)),
      );
    }
  });

  test('has a scheme of its own for what only programs inside a replica may do', () => {
    const own = operationNames.filter((name) => describedOf(name).security.some((one) => 'engine' in one));
    expect(own.sort()).toEqual(['createOwnPreview', 'deleteOwnPreview']);
  });
});

describe('the routes of the service', () => {
  test('are those of the contract, each with a handler, and those of the login', async () => {
    const fromContract = Object.values(operations).map(({ method, path }) => `${method} ${path}`);
    const fromLogin = identityEndpoints.map(({ method, path }) => `${method} /v1/auth${path}`);
    const routes = await listRoutes();
    expect(routes.filter((route) => route.includes(' /v1/')).sort()).toEqual(
      [...fromContract, ...fromLogin].sort(),
    );
    expect(new Set(fromContract).size).toBe(fromContract.length);
  });

  test('have an example each', () => {
    expect(Object.keys(examples).sort()).toEqual([...operationNames].sort());
  });
});
