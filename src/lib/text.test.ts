import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { byteLength, isStorableText, truncateBytes } from './text.ts';

const anyText = fc.string({ unit: 'binary' });

describe('isStorableText', () => {
  test.each([
    ['', true],
    ['plain', true],
    ['é 漢字 😀', true],
    ['line\nbreak\tand \u0001', true],
    ['\ufeff', true],
    ['a\0b', false],
    ['\ud800', false],
    ['\udc00\ud800', false],
    ['ok \ud83d', false],
  ])('%j is storable: %s', (text, expected) => {
    expect(isStorableText(text)).toBe(expected);
  });
});

describe('byteLength', () => {
  test.each([
    ['', 0],
    ['a', 1],
    ['é', 2],
    ['漢', 3],
    ['😀', 4],
  ])('%j takes %d bytes', (text, expected) => {
    expect(byteLength(text)).toBe(expected);
  });
});

describe('truncateBytes', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abc', 2, 'ab'],
    ['abc', 0, ''],
    ['abc', -1, ''],
    ['aé', 2, 'a'],
    ['é', 1, ''],
    ['😀😀', 7, '😀'],
  ])('%j in %d bytes is %j', (text, maxBytes, expected) => {
    expect(truncateBytes(text, maxBytes)).toBe(expected);
  });

  test('is the longest beginning that fits', () => {
    fc.assert(
      fc.property(anyText, fc.nat({ max: 60 }), (text, maxBytes) => {
        const cut = truncateBytes(text, maxBytes);
        expect(text.startsWith(cut)).toBe(true);
        expect(cut.isWellFormed()).toBe(true);
        expect(byteLength(cut)).toBeLessThanOrEqual(maxBytes);
        const next = [...text.slice(cut.length)][0];
        if (next !== undefined) expect(byteLength(cut + next)).toBeGreaterThan(maxBytes);
      }),
    );
  });
});
