import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import { errorCodeHeader } from '../../src/contract/error.ts';
import type { OperationName } from '../../src/contract/operations.ts';
import type { ApiAnswer } from '../world/world.ts';
import { contentOf, type LooseCall, operationOf, sentIn } from './call.ts';
import { describedOf, document, parametersOf, type Schema } from './published.ts';

const ajv = new Ajv2020({ strictTypes: false, strictRequired: false });
// The package is CommonJS, and its function stands under a name of its own there.
addFormats.default(ajv);
// Beside `contentEncoding`, which says the same to everybody.
ajv.addFormat('base64', /^[A-Za-z0-9+/]*={0,2}$/);
ajv.addVocabulary(['components', 'x-max-bytes']);
ajv.addSchema({ $id: 'service', components: document.components });

/** Holds a call that has succeeded, and its answer, against what the OpenAPI document says of them. */
export function expectDescribed(name: OperationName, call: LooseCall, answer: ApiAnswer): void {
  const { requestBody, responses, security } = describedOf(name);
  for (const [part, place] of [
    ['params', 'path'],
    ['headers', 'header'],
  ] as const) {
    for (const [param, value] of Object.entries(call[part] ?? {})) {
      if (param === 'authorization') {
        expect(security).not.toEqual([]);
        continue;
      }
      expectValid(parametersOf(name, place).find((one) => one.name === param)?.schema, value);
    }
  }
  const isRaw = operationOf(name).isRaw === true;
  if (call.body !== undefined && !isRaw)
    expectValid(requestBody?.content['application/json']?.schema, call.body);
  const schema = responses[answer.status]?.content[contentOf(operationOf(name))]?.schema;
  for (const sent of sentIn(operationOf(name), answer)) expectValid(schema, sent);
}

/** Holds a refusal against what the OpenAPI document says of it. */
export function expectErrorDescribed(name: OperationName, { status, body, headers }: ApiAnswer): void {
  const described = describedOf(name).responses[status];
  expect(described?.headers?.[errorCodeHeader]?.schema.enum).toContain(headers.get(errorCodeHeader));
  expectValid(described?.content['application/json']?.schema, body);
}

function expectValid(schema: Schema | undefined, value: unknown): void {
  expect(schema).toBeDefined();
  const validate = validatorOf(schema);
  expect(validate(value) ? [] : validate.errors, JSON.stringify(value).slice(0, 300)).toEqual([]);
}

const validators = new Map<string, ValidateFunction>();

/** Most schemas stand in many places of the document. */
function validatorOf(schema: unknown): ValidateFunction {
  const pointed = JSON.stringify(schema).replaceAll('"#/components/', '"service#/components/');
  const validate = validators.get(pointed) ?? ajv.compile(JSON.parse(pointed));
  validators.set(pointed, validate);
  return validate;
}
