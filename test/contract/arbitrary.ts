import fc from 'fast-check';
import type { OperationName } from '../../src/contract/operations.ts';
import type { LooseCall } from './call.ts';
import { fieldsOf, type Step, withField } from './fields.ts';
import { bodySchema, branchesOf, parametersOf, type Schema } from './published.ts';

/** One change of a call; a body without a path is replaced as a whole. */
export type Change =
  | { part: 'params'; name: string; value: string }
  | { part: 'query'; name: string; value: unknown }
  | { part: 'headers'; name: string; value: string }
  | { part: 'body'; path: Step[]; value: unknown };

/** Changes of a call that would succeed: they leave it right, make it nearly right, or entirely arbitrary. */
export function changesOf(name: OperationName, example: LooseCall): fc.Arbitrary<Change[]> {
  const schema = bodySchema(name);
  const inBody = (path: Step[], value: fc.Arbitrary<unknown>) =>
    fc.record({ part: fc.constant('body' as const), path: fc.constant(path), value });
  const some: fc.Arbitrary<Change>[] = [
    ...parametersOf(name, 'path').map((one) =>
      fc.record({
        part: fc.constant('params' as const),
        name: fc.constant(one.name),
        value: paramText(one.schema),
      }),
    ),
    ...parametersOf(name, 'query').map((one) =>
      fc.record({
        part: fc.constant('query' as const),
        name: fc.constant(one.name),
        value: queryValue(one.schema),
      }),
    ),
    ...parametersOf(name, 'header').map((one) =>
      fc.record({
        part: fc.constant('headers' as const),
        name: fc.constant(one.name),
        value: headerText(one.schema),
      }),
    ),
  ];
  if (schema) {
    const absent = fc.constant(undefined);
    const fields = fieldsOf(schema, example.body).map((field) =>
      inBody(field.path, fc.oneof(fitting(field.schema), anyJson, absent)),
    );
    some.push(fc.oneof(...fields), fc.oneof(...fields), inBody([], fitting(schema)), inBody([], anyJson));
  }
  return fc.array(fc.oneof(...some), { minLength: 1, maxLength: 3 });
}

export function applyChange(call: LooseCall, change: Change): LooseCall {
  if (change.part === 'body') {
    const isWhole = change.path.length === 0 || typeof call.body !== 'object' || call.body === null;
    // A text would be sent as it is, so it is turned into JSON like everything else.
    const whole = typeof change.value === 'string' ? JSON.stringify(change.value) : change.value;
    return { ...call, body: isWhole ? whole : withField(call.body, change.path, change.value) };
  }
  return { ...call, [change.part]: { ...call[change.part], [change.name]: change.value } };
}

/** Text with what breaks things: nothing, NUL, half characters, signs that mean something to SQL, paths and shells. */
const nastyText = fc.constantFrom(
  ...['', ' ', '\0', 'a\0b', '\ud800', 'a\udc00', '\uffff', '\u202e', 'é€🙂', '%', '%00', '../..', '/', '\\'],
  ...["' or 1=1 --", '"; drop table person; --', '$(id)', '-x', '~/.ssh/id', '\r\nX: y', '__proto__', 'null'],
  ...['9'.repeat(400), 'a'.repeat(70_000), '🙂'.repeat(20_000), 'https://', 'http://[', 'global', '0', '1e3'],
);

const anyText = fc.oneof(
  nastyText,
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 300 }),
);

// Made once each, since making them is what takes time.
const word = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_]{0,20}$/);
const fieldName = fc.string({ maxLength: 10 });
const base64 = fc.base64String();

const anyJson = fc.oneof(
  nastyText,
  fc.constantFrom(null, true, 0, -1, 1e308, 2 ** 53, [], {}, [[]], [null]),
  fc.jsonValue({ maxDepth: 4 }),
);

/** A value of which a schema says that it is right, most of the time. */
function fitting(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof(...branchesOf(schema).map(ofBranch));
}

function ofBranch(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === 'object') return objectOf(schema);
  if (schema.type === 'array') return fc.array(fitting(schema.items ?? {}), { maxLength: 4 });
  if (schema.type === 'string') return textOf(schema);
  if (schema.type === 'boolean') return fc.boolean();
  if (schema.type === 'null') return fc.constant(null);
  if (schema.type === 'integer') return fc.integer({ min: schema.minimum ?? -9, max: schema.maximum ?? 9 });
  return anyJson;
}

function objectOf({
  properties = {},
  required = [],
  additionalProperties: others,
}: Schema): fc.Arbitrary<unknown> {
  const known = Object.entries(properties).filter(([, inner]) => !inner.not);
  const fields = fc.record(Object.fromEntries(known.map(([name, inner]) => [name, fitting(inner)])), {
    requiredKeys: required,
  });
  if (typeof others !== 'object') return fields;
  const free = fc.dictionary(fieldName, fitting(others), { maxKeys: 3 });
  return fc.tuple(free, fields).map(([more, own]) => ({ ...more, ...own }));
}

function textOf({ format, pattern, maxLength, 'x-max-bytes': maxBytes }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid' || format === 'guid') return fc.uuid();
  if (format === 'base64') return fc.oneof(base64, anyText);
  const bound = maxLength ?? maxBytes ?? 100;
  const long = fc.constantFrom('a'.repeat(bound), 'a'.repeat(bound + 1));
  // Making text from a pattern that looks ahead is not possible, and from one that names classes slow.
  const isPlain = pattern !== undefined && !/\(\?|\\p\{/i.test(pattern);
  const matching = isPlain ? [fc.stringMatching(new RegExp(pattern, 'u'), { maxLength: 20 })] : [];
  return fc.oneof(word, word, anyText, long, ...matching);
}

/** Text that makes up one part of a path and stays in it; what a path may not be at all is in raw-http.test.ts. */
function paramText(schema: Schema): fc.Arbitrary<string> {
  const text = fc.oneof(fitting(schema).map(String), anyText);
  return text.filter((one) => one !== '' && one.length < 100 && !/^\.{1,2}$/.test(one));
}

/** Text that a client can send in a header at all. */
function headerText(schema: Schema): fc.Arbitrary<string> {
  const text = fc.oneof(fitting(schema).map(String), anyText);
  return text.filter((one) => one.length < 1_000 && /^[\t\x20-\x7e\x80-\xff]*$/.test(one));
}

function queryValue(schema: Schema): fc.Arbitrary<unknown> {
  const short = fc.oneof(fitting(schema).map(String), anyText).filter((one) => one.length < 1_000);
  return fc.oneof(short, fc.array(short, { minLength: 2, maxLength: 3 }));
}
