import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { identityEndpoints } from '../../src/account/identity-endpoints.ts';
import { openApiDocument } from '../../src/contract/openapi.ts';
import { errorsOf } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { version } from '../../src/lib/version.ts';
import { operationNames, operationOf, send, usualCaller } from './call.ts';
import { exampleOf, examples } from './examples.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { describedOf, document, parametersOf, type Schema } from './published.ts';
import { listRoutes } from './routes.ts';
import { type Stage, startStage } from './stage.ts';

let stage: Stage;
let fixture: Fixture;
beforeAll(async () => {
  stage = await startStage();
  fixture = await makeFixture(stage);
});
afterAll(() => stage?.close());

const ajv = new Ajv2020({ strictTypes: false, strictRequired: false });
// The package is CommonJS, and its function stands under a name of its own there.
addFormats.default(ajv);
ajv.addVocabulary(['components', 'x-max-bytes']);
ajv.addSchema({ $id: 'service', components: document.components });

describe('the OpenAPI document', () => {
  test('at /openapi.json is what the contract makes', async () => {
    const { body } = await stage.world.call('GET', '/openapi.json');
    const made = openApiDocument(operations, { baseUrl: stage.world.url, version });
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

  test.each(operationNames)('says of %s what its request and its answer are', async (name) => {
    const who = usualCaller(name);
    const call = await exampleOf(name, fixture, who);
    const described = describedOf(name);
    for (const [param, value] of Object.entries(call.params ?? {})) {
      const schema = parametersOf(name, 'path').find((one) => one.name === param)?.schema;
      expectValid(schema, value);
    }
    if (call.body !== undefined)
      expectValid(described.requestBody?.content['application/json'].schema, call.body);
    const answer = await send(fixture.callers[who], name, call);
    expectValid(described.responses[answer.status]?.content['application/json'].schema, answer.body);
    const limit = await stage.world.call('GET', '/v1/nothing');
    expectValid(described.responses[500]?.content['application/json'].schema, limit.body);
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

function expectValid(schema: Schema | undefined, value: unknown): void {
  expect(schema).toBeDefined();
  const pointed = JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"service#/components/'));
  const validate = ajv.compile(pointed);
  expect(validate(value) ? [] : validate.errors, JSON.stringify(value).slice(0, 300)).toEqual([]);
}
