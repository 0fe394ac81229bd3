import { describe, expect, it } from 'vitest';
import { toStorable } from './storable.ts';

describe('what comes out of a sandbox', () => {
  it.each([
    ['a\0b', 'a\uFFFDb'],
    ['\uD800', '\uFFFD'],
    [{ 'k\0': ['\0', 1, null, true] }, { 'k\uFFFD': ['\uFFFD', 1, null, true] }],
    ['plain 🦊', 'plain 🦊'],
  ])('is kept as text the database takes: %j', (given, kept) => {
    expect(toStorable(given)).toEqual(kept);
  });
});
