import { expect, test } from 'vitest';
import { isStorableText } from '../lib/text.ts';
import { payloadOf } from './custom-payload.ts';

test.each<[string, string | Buffer, unknown]>([
  ['an object', '{"a":[1,true,null,"x"]}', { a: [1, true, null, 'x'] }],
  ['a list', '[1]', [1]],
  ['a string', '"hello"', 'hello'],
  ['nothing', '', {}],
  ['blanks', ' \n', {}],
  ['JSON after a byte order mark', '\uFEFF{"a":1}', { a: 1 }],
  ['text', 'ticket 7 is open', { raw: 'ticket 7 is open' }],
  ['a form', 'a=1&b=2', { raw: 'a=1&b=2' }],
  ['JSON that is cut off', '{"a":', { raw: '{"a":' }],
  ['text with NUL', 'a\0b', { raw: 'a\uFFFDb' }],
  ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0x62]), { raw: 'a\uFFFDb' }],
  ['JSON with bytes that are no UTF-8', Buffer.from([0x22, 0xc3, 0x22]), '\uFFFD'],
  ['an escaped NUL', String.raw`{"a\u0000":"b\u0000"}`, { 'a\uFFFD': 'b\uFFFD' }],
  ['a lone surrogate', String.raw`{"a":"\ud800x"}`, { a: '\uFFFDx' }],
  ['a key twice', '{"a":1,"a":2}', { a: 2 }],
  ['a number too large to be exact', '{"id":12345678901234567890}', { id: '12345678901234567890' }],
  ['a number beyond all numbers', '[1e400,-1e400]', ['1e400', '-1e400']],
  ['numbers that are fine', '[9007199254740991,-0.5,1e3]', [9007199254740991, -0.5, 1000]],
])('%s is kept as it is meant', (_what, body, expected) => {
  expect(payloadOf(Buffer.from(body))).toEqual(expected);
});

test('a key named __proto__ is a key like others', () => {
  const payload = payloadOf(Buffer.from('{"__proto__":{"isAdmin":true}}')) as object;
  expect(Object.keys(payload)).toEqual(['__proto__']);
  expect('isAdmin' in payload).toBe(false);
});

test.each([33, 1_000, 130_000])('JSON nested %i deep is kept as text', (depth) => {
  const text = '['.repeat(depth) + ']'.repeat(depth);
  expect(payloadOf(Buffer.from(text))).toEqual({ raw: text });
});

test('what is kept can be stored, whatever came', () => {
  const bytes = Buffer.from(Array.from({ length: 4_096 }, (_, index) => (index * 7) % 256));
  const { raw } = payloadOf(bytes) as { raw: string };
  expect(isStorableText(raw)).toBe(true);
});
