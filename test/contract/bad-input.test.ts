import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperationName } from '../../src/contract/operations.ts';
import type { ApiAnswer } from '../world/world.ts';
import { type LooseCall, operationNames, outcome, send, usualCaller } from './call.ts';
import { exampleOf } from './examples.ts';
import { everyType, fieldsOf, type JsonType, typesOf, withField } from './fields.ts';
import { type Fixture, makeFixture } from './fixture.ts';
import { bodySchema, branchesOf, type Schema } from './published.ts';
import { type Stage, startStage } from './stage.ts';
import { hashContent } from './tables.ts';

let stage: Stage;
let fixture: Fixture;
beforeAll(async () => {
  stage = await startStage();
  fixture = await makeFixture(stage);
});
afterAll(() => stage?.close());

const withBody = operationNames.filter((name) => bodySchema(name));

describe('a body that is no JSON object', () => {
  const bodies: Record<string, [body: unknown, outcome: string]> = {
    'is missing': [undefined, '400 invalid_request'],
    'is empty': ['', '400 invalid_request'],
    'is null': ['null', '400 invalid_request'],
    'is a list': ['[]', '400 invalid_request'],
    'is a text': ['"text"', '400 invalid_request'],
    'is a number': ['7', '400 invalid_request'],
    'is cut short': ['{"name": "a', '400 invalid_json'],
    'is only white space': [' \n', '400 invalid_json'],
    'has more after its end': ['{}{}', '400 invalid_json'],
    'has a byte order mark': ['\ufeff{}', '400 invalid_json'],
    'is broken UTF-8': [Buffer.from('7b2261223a22ff227d', 'hex'), '400 invalid_json'],
    'is UTF-16': [Buffer.from('{"a":1}', 'utf16le'), '400 invalid_json'],
    'has a key twice': ['{"name": "a", "name": "b"}', '400 invalid_json'],
    'names a prototype': ['{"__proto__": {"name": "a"}}', '400 invalid_json'],
    'is nested without end': [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, '400 invalid_json'],
    'is an object nested without end': [
      `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
      '400 invalid_json',
    ],
  };

  test.each(withBody)('is refused by %s', async (name) => {
    const call = await usual(name);
    await expectNothingStored(async () => {
      for (const [kind, [body, expected]] of Object.entries(bodies)) {
        expect(outcome(await sendUsual(name, { ...call, body })), `a body that ${kind}`).toBe(expected);
      }
    });
  });

  const types = {
    'text/plain': { 'content-type': 'text/plain' },
    'a form': { 'content-type': 'application/x-www-form-urlencoded' },
    'another kind of JSON': { 'content-type': 'application/jsonlines' },
    'a broken content type': { 'content-type': 'application' },
  };

  test.each(withBody)('is refused by %s when it says that it is something else', async (name) => {
    const call = await usual(name);
    await expectNothingStored(async () => {
      for (const [kind, headers] of Object.entries(types)) {
        const answer = await sendUsual(name, { ...call, headers });
        expect(outcome(answer), kind).toBe('415 unsupported_media_type');
      }
    });
  });
});

describe('a field that is not what the contract says', () => {
  const samples: Record<JsonType, unknown> = {
    null: null,
    boolean: true,
    integer: 7,
    number: 7.5,
    string: 'text',
    array: [],
    object: {},
  };

  test.each(withBody)('is refused by %s when it is missing or of another type', async (name) => {
    const { call, fields } = await described(name);
    await expectNothingStored(async () => {
      for (const { path, schema, isRequired } of fields) {
        const wrong = everyType.filter((type) => !typesOf(schema).has(type)).map((type) => samples[type]);
        for (const value of isRequired ? [undefined, ...wrong] : wrong) {
          const answer = await sendUsual(name, { ...call, body: withField(call.body, path, value) });
          expectRefused(answer, `${path.join('.')} = ${JSON.stringify(value)}`);
        }
      }
    });
  });

  test.each(withBody)('is refused by %s when PostgreSQL could not keep it', async (name) => {
    const { call, fields } = await described(name);
    await expectNothingStored(async () => {
      for (const { path, schema } of fields.filter((field) => isFreeText(field.schema))) {
        const usualText = String(valueAt(call.body, path) ?? 'a');
        for (const bad of ['\0', '\ud800', '\udc00']) {
          for (const value of [`${usualText}${bad}`, `${bad}${usualText}`]) {
            const answer = await sendUsual(name, { ...call, body: withField(call.body, path, value) });
            expectRefused(answer, `${path.join('.')} = ${JSON.stringify(value)}`);
          }
        }
        expect(maxOf(schema), `${name} ${path.join('.')} has a bound`).toBeGreaterThan(0);
      }
    });
  });

  test.each(withBody)('is refused by %s when it is longer than its bound', async (name) => {
    const { call, fields } = await described(name);
    await expectNothingStored(async () => {
      for (const { path, schema } of fields.filter((field) => isFreeText(field.schema))) {
        const tooLong = String(valueAt(call.body, path) ?? '').padEnd(maxOf(schema) + 1, 'a');
        const answer = await sendUsual(name, { ...call, body: withField(call.body, path, tooLong) });
        expectRefused(answer, `${path.join('.')} of ${tooLong.length} characters`);
      }
    });
  });

  test.each(withBody)('is ignored by %s when it is unknown', async (name) => {
    const call = await usual(name);
    const extra = { unknown_field: { deep: [1] }, constructor: 'x', id: 'mine', organization_id: 'mine' };
    const answer = await sendUsual(name, { ...call, body: { ...(call.body as object), ...extra } });
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    expect(JSON.stringify(answer.body)).not.toMatch(/unknown_field|mine/);
  });
});

describe('a limit in bytes', () => {
  const places: [OperationName, string][] = [
    ['createVariable', 'value'],
    ['updateVariable', 'value'],
    ['createEnvironmentFile', 'content'],
    ['updateEnvironmentFile', 'content'],
    ['saveWarmHook', 'content'],
    ['saveStartHook', 'content'],
  ];

  test('is at every field of 65,536 bytes', () => {
    const found = withBody.flatMap((name) =>
      branchesOf(bodySchema(name) ?? {})
        .flatMap(({ properties = {} }) => Object.entries(properties))
        .filter(([, schema]) => maxOf(schema) === 65_536)
        .map(([field]) => `${name} ${field}`),
    );
    expect(found.sort()).toEqual(places.map((place) => place.join(' ')).sort());
  });

  const texts = [
    ['of one byte each', 'a'.repeat(65_536)],
    ['of two bytes each', 'é'.repeat(32_768)],
    ['of three bytes each and one more', `${'€'.repeat(21_845)}a`],
    ['of four bytes each', '🙂'.repeat(16_384)],
  ] as const;

  test.each(places)('of %s counts bytes of %s, not characters', async (name, field) => {
    const call = await usual(name);
    for (const [kind, text] of texts) {
      const whole = await sendUsual(name, { ...call, body: withField(call.body, [field], text) });
      expect(whole.status, `65,536 bytes, characters ${kind}`).toBeLessThan(300);
      expect(Object.values<Record<string, unknown>>(whole.body)[0]?.[field]).toBe(text);
      const next = await usual(name);
      const body = withField(next.body, [field], `${text}a`);
      const more = await sendUsual(name, { ...next, body });
      expectRefused(more, `65,537 bytes, characters ${kind}`);
      expect(more.body.error).toContain('65,536');
      if (name.startsWith('create')) Object.assign(call, await usual(name));
    }
  });
});

function usual(name: OperationName): Promise<LooseCall> {
  return exampleOf(name, fixture, usualCaller(name));
}

function sendUsual(name: OperationName, call: Parameters<typeof send>[2]): Promise<ApiAnswer> {
  return send(fixture.callers[usualCaller(name)], name, call);
}

async function described(name: OperationName) {
  const call = await usual(name);
  const fields = fieldsOf(bodySchema(name) ?? {}, call.body);
  expect(fields.length).toBeGreaterThan(0);
  return { call, fields };
}

function expectRefused(answer: ApiAnswer, what: string): void {
  expect(outcome(answer), `${what}: ${JSON.stringify(answer.body).slice(0, 300)}`).toBe(
    '400 invalid_request',
  );
}

async function expectNothingStored(requests: () => Promise<void>): Promise<void> {
  await stage.world.drainJobs();
  const before = await hashContent(stage.world.pool);
  await requests();
  expect(await hashContent(stage.world.pool)).toBe(before);
}

/** Text of the caller's own choice, not an id and not one of a few words. */
function isFreeText(schema: Schema): boolean {
  return branchesOf(schema).some(
    (branch) => branch.type === 'string' && !branch.format && !branch.enum && branch.const === undefined,
  );
}

/** The bound of a text, in characters or in bytes. */
function maxOf(schema: Schema): number {
  const bounds = branchesOf(schema).map((branch) => branch.maxLength ?? branch['x-max-bytes'] ?? 0);
  return Math.max(...bounds);
}

function valueAt(body: unknown, path: (string | number)[]): unknown {
  return path.reduce((value, step) => (value as Record<string | number, unknown> | undefined)?.[step], body);
}
