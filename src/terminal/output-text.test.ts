import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTextCutter } from './output-text.ts';

function cut(pieces: Buffer[]): { texts: string[]; rest: Buffer } {
  const cutter = createTextCutter();
  const texts = pieces.map((piece) => cutter.take(piece).toString());
  return { texts, rest: cutter.rest() };
}

describe('cutting output', () => {
  test.each([
    ['a character of two bytes', 'é', [1]],
    ['a character of three bytes', '€', [1, 2]],
    ['a character of four bytes', '🙂', [1, 2, 3]],
  ])('holds back the beginning of %s', (_what, character, places) => {
    const bytes = Buffer.from(`a${character}b`);
    for (const place of places) {
      const { texts, rest } = cut([bytes.subarray(0, 1 + place), bytes.subarray(1 + place)]);
      expect(texts).toEqual(['a', `${character}b`]);
      expect(rest).toHaveLength(0);
    }
  });

  test('shows bytes that are no text at once, and gives the rest at the end', () => {
    const { texts, rest } = cut([
      Buffer.from([0x80, 0x80, 0x80, 0x80]),
      Buffer.from([0xff]),
      Buffer.from([0xe2, 0x82]),
    ]);
    expect(texts).toEqual(['\ufffd'.repeat(4), '\ufffd', '']);
    expect(rest).toEqual(Buffer.from([0xe2, 0x82]));
  });

  test('never loses or changes a byte, however the stream is cut', () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 8 }));
    const property = fc.property(pieces, (given) => {
      const cutter = createTextCutter();
      const taken = given.map((piece) => Buffer.from(cutter.take(Buffer.from(piece))));
      expect(Buffer.concat([...taken, cutter.rest()])).toEqual(Buffer.concat(given));
      expect(cutter.rest().length).toBeLessThan(4);
    });
    fc.assert(property, { numRuns: 300 });
  });

  test('shows text the same however it is cut', () => {
    const cuts = fc.array(fc.nat(20), { maxLength: 8 });
    const property = fc.property(fc.string({ unit: 'grapheme' }), cuts, (shown, places) => {
      const bytes = Buffer.from(shown);
      const edges = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort(
        (a, b) => a - b,
      );
      const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
      expect(cut(pieces).texts.join('')).toBe(shown);
    });
    fc.assert(property, { numRuns: 300 });
  });
});
