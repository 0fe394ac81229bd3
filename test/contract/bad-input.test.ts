import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OperationName } from '../../src/contract/operations.ts';
import { newId } from '../../src/lib/ids.ts';
import type { ApiAnswer } from '../world/world.ts';
import { type LooseCall, operationNames, outcome, send, usualCaller, withHeaders } from './call.ts';
import { exampleOf } from './examples.ts';
import { everyType, fieldsOf, type JsonType, type Step, typesOf, withField } from './fields.ts';
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
    await expectNothingStored(
      Object.entries(bodies).map(([kind, [body, expected]]) => async () => {
        expect(outcome(await sendUsual(name, { ...call, body })), `a body that ${kind}`).toBe(expected);
      }),
    );
  });

  const types = {
    'text/plain': { 'content-type': 'text/plain' },
    'a form': { 'content-type': 'application/x-www-form-urlencoded' },
    'another kind of JSON': { 'content-type': 'application/jsonlines' },
    'a broken content type': { 'content-type': 'application' },
  };

  test.each(withBody)('is refused by %s when it says that it is something else', async (name) => {
    const call = await usual(name);
    await expectNothingStored(
      Object.entries(types).map(([kind, headers]) => async () => {
        const answer = await sendUsual(name, withHeaders(call, headers));
        expect(outcome(answer), kind).toBe('415 unsupported_media_type');
      }),
    );
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
    const wrong = fields.flatMap(({ path, schema, isRequired }) => {
      const types = everyType.filter((type) => !typesOf(schema).has(type));
      const values = types.map((type) => samples[type]);
      return (isRequired ? [undefined, ...values] : values).map((value) => ({ path, value }));
    });
    await expectNothingStored(wrong.map((field) => () => expectFieldRefused(name, call, field)));
  });

  test.each(withBody)('is refused by %s when PostgreSQL could not keep it', async (name) => {
    const { call, fields } = await described(name);
    const wrong = fields
      .filter(({ schema }) => isFreeText(schema) || isAnything(schema))
      .flatMap(({ path }) => {
        const text = String(valueAt(call.body, path) ?? 'a');
        return [`${text}\0`, `\ud800${text}`, `${text}\udc00`].map((value) => ({ path, value }));
      });
    await expectNothingStored(wrong.map((field) => () => expectFieldRefused(name, call, field)));
  });

  test.each(withBody)('is refused by %s when it is longer than its bound', async (name) => {
    const { call, fields } = await described(name);
    const wrong = fields
      .filter(({ schema }) => isFreeText(schema))
      .map(({ path, schema }) => {
        expect(maxOf(schema), `${name} ${path.join('.')} has a bound`).toBeGreaterThan(0);
        return { path, value: String(valueAt(call.body, path) ?? '').padEnd(maxOf(schema) + 1, 'a') };
      });
    await expectNothingStored(wrong.map((field) => () => expectFieldRefused(name, call, field)));
  });

  test.each(withBody)('is ignored by %s when it is unknown', async (name) => {
    const call = await usual(name);
    const extra = { unknown_field: { deep: [1] }, constructor: 'x', organization_id: 'mine', id: 'mine' };
    // A new chat may be given its id.
    if ('id' in propertiesOf(name)) Object.assign(extra, { id: newId() });
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
    ['testWarmHook', 'content'],
    ['saveTestWarmHook', 'content'],
    ['streamWarmHookTest', 'content'],
    ['testStartHook', 'content'],
    ['streamStartHookTest', 'content'],
    ['sendTerminalInput', 'data'],
  ];

  test('is at every field of 60,000 or 65,536 bytes', () => {
    const found = withBody.flatMap((name) =>
      Object.entries(propertiesOf(name))
        .filter(([, schema]) => [60_000, 65_536].includes(maxOf(schema)))
        .map(([field]) => `${name} ${field}`),
    );
    expect(found.sort()).toEqual(places.map((place) => place.join(' ')).sort());
  });

  test.each(places)('of %s counts bytes of %s, not characters', async (name, field) => {
    const bytes = maxOf(propertiesOf(name)[field] ?? {});
    const characters = ['a', 'é', '€', '🙂'];
    // What runs in a sandbox takes its time.
    for (const character of /test/i.test(name) ? characters.slice(-1) : characters) {
      const text = textOfBytes(bytes, character);
      const call = await usual(name);
      const whole = await sendUsual(name, { ...call, body: withField(call.body, [field], text) });
      expect(whole.status, `${bytes} bytes of ${character}`).toBeLessThan(300);
      const shown = Object.values<Record<string, unknown>>(whole.body)[0]?.[field];
      if (shown !== undefined) expect(shown).toBe(text);
      const next = await usual(name);
      const more = await sendUsual(name, { ...next, body: withField(next.body, [field], `${text}a`) });
      expectRefused(more, `${bytes} bytes of ${character} and one more`);
      expect(more.body.error).toContain(bytes.toLocaleString('en'));
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

async function expectFieldRefused(
  name: OperationName,
  call: LooseCall,
  { path, value }: { path: Step[]; value: unknown },
): Promise<void> {
  const answer = await sendUsual(name, { ...call, body: withField(call.body, path, value) });
  expectRefused(answer, `${path.join('.')} = ${String(JSON.stringify(value)).slice(0, 100)}`);
}

/** Makes requests that are refused, all at once. */
async function expectNothingStored(requests: (() => Promise<void>)[]): Promise<void> {
  await stage.settle();
  const before = await hashContent(stage.world.pool);
  await Promise.all(requests.map((request) => request()));
  expect(await hashContent(stage.world.pool)).toBe(before);
}

/** So many bytes of this character, and of another one where it does not come out even. */
function textOfBytes(bytes: number, character: string): string {
  const size = Buffer.byteLength(character);
  return character.repeat(bytes / size) + 'a'.repeat(bytes % size);
}

function propertiesOf(name: OperationName): Record<string, Schema> {
  return Object.assign({}, ...branchesOf(bodySchema(name) ?? {}).map(({ properties }) => properties));
}

/** Text of the caller's own choice, not an id and not one of a few words. */
function isFreeText(schema: Schema): boolean {
  return branchesOf(schema).some(
    (branch) => branch.type === 'string' && !branch.format && !branch.enum && branch.const === undefined,
  );
}

/** Whatever JSON can say, kept for the caller as it is. */
function isAnything(schema: Schema): boolean {
  return branchesOf(schema).some(
    (branch) => !branch.type && !branch.enum && !branch.not && branch.const === undefined,
  );
}

/** The bound of a text, in characters or in bytes. */
function maxOf(schema: Schema): number {
  const bounds = branchesOf(schema).map((branch) => branch.maxLength ?? branch['x-max-bytes'] ?? 0);
  return Math.max(...bounds);
}

function valueAt(body: unknown, path: Step[]): unknown {
  return path.reduce((value, step) => (value as Record<Step, unknown> | undefined)?.[step], body);
}
