import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonBodyError, parseJsonBody } from './json-body.ts';

const limits = { maxDepth: 32 };

function parse(text: string): unknown {
  return parseJsonBody(Buffer.from(text), limits);
}

function thrownBy(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

function hasProtoKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey);
}

describe('parseJsonBody', () => {
  test.each([
    ['', 'body is not valid JSON'],
    ['  ', 'body is not valid JSON'],
    ['{', 'body is not valid JSON'],
    ['"open', 'body is not valid JSON'],
    ['"open\\"', 'body is not valid JSON'],
    ['{"a":1,}', 'body is not valid JSON'],
    ['[1 2]', 'body is not valid JSON'],
    [']', 'body is not valid JSON'],
    ['{"\\q":1}', 'body is not valid JSON'],
    ["{'a':1}", 'body is not valid JSON'],
    ['NaN', 'body is not valid JSON'],
    ['\ufeff{}', 'body is not valid JSON'],
    ['"a\nb"', 'body is not valid JSON'],
    ['{"a":1,"a":1}', 'the key "a" appears twice in one object'],
    ['{"a":1,"b":{},"\\u0061":2}', 'the key "a" appears twice in one object'],
    ['[{"a":[{"b":1, "b" :2}]}]', 'the key "b" appears twice in one object'],
    ['{"":1,"":2}', 'the key "" appears twice in one object'],
    ['{"a\\"":1,"a\\"":2}', 'the key "a\\"" appears twice in one object'],
    ['{"__proto__":{"admin":true}}', 'the key "__proto__" is not allowed'],
    ['[{"a":{"\\u005f_proto__":1}}]', 'the key "__proto__" is not allowed'],
    ['['.repeat(33), 'body is nested deeper than 32 levels'],
    [`${'['.repeat(33)}${']'.repeat(33)}`, 'body is nested deeper than 32 levels'],
    ['{"a":'.repeat(33), 'body is nested deeper than 32 levels'],
  ])('refuses %j: %s', (text, message) => {
    expect(() => parse(text)).toThrow(new JsonBodyError(message));
  });

  test.each([
    ['{"a":{"a":1},"b":{"a":2}}'],
    ['[{"a":1},{"a":2}]'],
    ['{"a":["a","a",{"a":"a"}],"b":"a"}'],
    ['{"a":"\\"a\\":1,","b":"{[\\\\"}'],
    ['"__proto__"'],
    ['{"x":"__proto__"}'],
    [' { "a" : [ ] , "b" : { } } '],
    ['"\\ud800"'],
    [`"${'long text with a \\" quote and a backslash \\\\'.repeat(3)}"`],
    [`${'['.repeat(32)}${']'.repeat(32)}`],
  ])('reads %s', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  test('a key twice is found among many keys', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `"key ${index}":1`);
    expect(Object.keys(parse(`{${names.join()}}`) as object)).toHaveLength(1000);
    expect(() => parse(`{${names.join()},"key 3":1}`)).toThrow('the key "key 3" appears twice');
  });

  test('the message shows only the beginning of a long key', () => {
    const key = 'k'.repeat(100_000);
    expect(() => parse(`{"${key}":1,"${key}":2}`)).toThrow(/^the key "k{64}…" appears twice in one object$/);
  });

  test('the message never quotes the body', () => {
    const secret = 'hunter2';
    const error = thrownBy(() => parse(`{"password":"${secret}" oops}`));
    expect(inspect(error, { showHidden: true, depth: null })).not.toContain(secret);
    expect(error).toEqual(new JsonBodyError('body is not valid JSON'));
  });

  test('a constructor key is plain data and reaches no prototype', () => {
    const value = parse('{"constructor":{"prototype":{"admin":true}}}');
    expect(Object.hasOwn(value as object, 'constructor')).toBe(true);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test.each([
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a character cut short', [0x22, 0xe6, 0xbc, 0x22]],
    ['a lone byte', [0x22, 0xff, 0x22]],
  ])('refuses %s as broken UTF-8', (_, bytes) => {
    expect(() => parseJsonBody(Buffer.from(bytes), limits)).toThrow(
      new JsonBodyError('body is not valid UTF-8'),
    );
  });

  test.each([
    ['open arrays', '['.repeat(1 << 20)],
    ['open objects', '{"a":'.repeat(1 << 18)],
    ['escaped quotes', `"${'\\"'.repeat(1 << 19)}`],
    ['backslashes', `"${'\\'.repeat((1 << 20) + 1)}"`],
    ['quotes', '"'.repeat((1 << 20) + 1)],
    ['closing brackets', ']'.repeat(1 << 20)],
  ])('a megabyte of %s is refused without overflow', (_, text) => {
    expect(() => parse(text)).toThrow(JsonBodyError);
  });

  test('reads back every JSON value', () => {
    const value = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }).filter((json) => !hasProtoKey(json));
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2), (json, indent) => {
        expect(parse(JSON.stringify(json, null, indent))).toStrictEqual(JSON.parse(JSON.stringify(json)));
      }),
    );
  });

  test('finds a key twice wherever it stands', () => {
    const objects = fc.uniqueArray(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(objects, fc.nat(), fc.jsonValue({ maxDepth: 2 }), (keys, pick, filler) => {
        const usable = keys.filter((key) => key !== '__proto__');
        const twice = usable[pick % Math.max(1, usable.length)];
        fc.pre(twice !== undefined && !hasProtoKey(filler));
        const members = [...usable, twice].map((key) => `${JSON.stringify(key)}:${JSON.stringify(filler)}`);
        expect(() => parse(`[{"a":{${members.join()}}}]`)).toThrow('appears twice in one object');
        expect(() => parse(`[{"a":{${members.slice(0, -1).join()}}}]`)).not.toThrow();
      }),
    );
  });

  test('throws nothing but JsonBodyError for any bytes', () => {
    const jsonLike = fc
      .array(fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', 'a', '1', 'u0061', ' ', 'é'))
      .map((parts) => Buffer.from(parts.join('')));
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 200 }).map(Buffer.from), jsonLike);
    fc.assert(
      fc.property(bytes, (body) => {
        try {
          // What is accepted is what the plain parser reads from the same text.
          expect(parseJsonBody(body, limits)).toEqual(JSON.parse(body.toString()));
        } catch (error) {
          expect(error).toBeInstanceOf(JsonBodyError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
