import { expect, test } from 'vitest';
import { boundedJson } from './bounded-json.ts';

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

test('what is small and clean stays as it is', () => {
  const value = {
    type: 'assistant',
    message: { content: [{ type: 'text', text: 'Hi 😀' }], n: 1.5, no: null },
  };
  expect(boundedJson(value, 10_000)).toEqual(value);
});

test('long strings are cut and the shape is kept', () => {
  const value = {
    type: 'user',
    content: [{ type: 'tool_result', text: 'x'.repeat(500_000) }, { text: 'short' }],
  };
  const bounded = boundedJson(value, 100_000) as typeof value;
  expect(bytesOf(bounded)).toBeLessThanOrEqual(100_000);
  expect(bounded.content[0]?.text).toBe(`${'x'.repeat(32_768)}… [cut]`);
  expect(bounded.content[1]).toEqual({ text: 'short' });
});

test('what is large without long strings keeps its type only', () => {
  const value = { type: 'assistant', numbers: Array.from({ length: 100_000 }, (_, n) => n) };
  expect(boundedJson(value, 10_000)).toEqual({ type: 'assistant', truncated: true });
  expect(boundedJson({ numbers: value.numbers }, 10_000)).toEqual({ truncated: true });
});

test('a cut never leaves half a character', () => {
  const bounded = boundedJson({ text: `${'x'.repeat(63)}${'😀'.repeat(10_000)}` }, 1_000);
  expect(bytesOf(bounded)).toBeLessThanOrEqual(1_000);
  expect(JSON.stringify(bounded).isWellFormed()).toBe(true);
});

test('nesting without end is cut off', () => {
  const deep: Record<string, unknown> = {};
  let inner = deep;
  for (let depth = 0; depth < 20_000; depth++) {
    const next = {};
    inner.a = next;
    inner = next;
  }
  const bounded = boundedJson(deep, 1_000);
  expect(JSON.stringify(bounded)).toContain('[cut]');
});

test('a key that is special in JavaScript is a key like any other', () => {
  const bounded = boundedJson(JSON.parse('{"__proto__":{"polluted":true}}'), 1_000);
  expect(JSON.stringify(bounded)).toBe('{"__proto__":{"polluted":true}}');
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
