import { describe, expect, it } from 'vitest';
import { toStorable } from './storable.ts';

/** Lists in lists, so many, around a value. */
const nested = (depth: number, value: unknown): unknown => (depth === 0 ? value : [nested(depth - 1, value)]);

describe('what comes out of a sandbox', () => {
  it.each([
    ['a\0b', 'a\uFFFDb'],
    ['\uD800', '\uFFFD'],
    [{ 'k\0': ['\0', 1, null, true] }, { 'k\uFFFD': ['\uFFFD', 1, null, true] }],
    [
      { clean: 1, 'k\uDC00': 2, last: ['x'] },
      { clean: 1, 'k\uFFFD': 2, last: ['x'] },
    ],
    ['plain 🦊', 'plain 🦊'],
    [JSON.parse('{"__proto__":"\\u0000"}'), JSON.parse('{"__proto__":"\uFFFD"}')],
  ])('is kept as text the database takes: %j', (given, kept) => {
    expect(toStorable(given)).toEqual(kept);
  });

  it.each([
    ['plain 🦊'],
    [0],
    [null],
    [[]],
    [{ a: [{ b: ['c', 1, null, true] }] }],
    [nested(64, 'deep')],
    [nested(65, null)],
  ])('is the same value when nothing is wrong with it: %j', (given) => {
    expect(toStorable(given)).toBe(given);
  });

  it.each(['x', 1, {}, nested(5_000, 'x')])('is left out below a depth nobody needs', (hidden) => {
    expect(toStorable(nested(65, hidden))).toEqual(nested(65, null));
  });

  it('is looked at once at every depth, also when everything is wrong with it', () => {
    const wide = (depth: number): unknown => (depth === 0 ? '\0' : { '\0': wide(depth - 1), a: '\0' });
    const batch = Array.from({ length: 500 }, () => wide(60));
    expect(JSON.stringify(toStorable(batch))).not.toContain('\\u0000');
  });
});
