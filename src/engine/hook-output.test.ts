import { describe, expect, test } from 'vitest';
import { createHookOutput, splitText } from './hook-output.ts';

async function collect(pieces: (Buffer | string)[], maxBytes?: number): Promise<string[]> {
  const passed: string[] = [];
  const output = createHookOutput({
    pass: async (text) => void passed.push(text),
    ...(maxBytes !== undefined && { maxBytes }),
  });
  for (const piece of pieces) await output.write(Buffer.from(piece as string));
  await output.end();
  return passed;
}

describe('what a hook writes becomes text', () => {
  const euro = Buffer.from('€');
  test.each<[string, (Buffer | string)[], string]>([
    ['plain', ['a', 'b\n'], 'ab\n'],
    ['a character in two pieces', [euro.subarray(0, 1), euro.subarray(1)], '€'],
    ['half a character at the end', [euro.subarray(0, 2)], '\ufffd'],
    ['bytes that are no UTF-8', [Buffer.from([0x61, 0xff, 0x62])], 'a\ufffdb'],
    ['NUL', ['a\0b'], 'a\ufffdb'],
    ['a byte order mark', ['\ufeffa'], '\ufeffa'],
  ])('%s', async (_, pieces, expected) => {
    expect((await collect(pieces)).join('')).toBe(expected);
  });
});

test('more than the limit is cut at a character, said once, and counted', async () => {
  const passed = await collect(['12345', '67€', 'more', 'and more'], 9);
  expect(passed.join('')).toBe(
    '1234567\n[The output is longer than 9 bytes; the rest is not kept.]\n[22 bytes were written in all.]\n',
  );
});

test('large output goes on in pieces before the end', async () => {
  const passed = await collect(['x'.repeat(150_000)]);
  expect(passed.map(({ length }) => length)).toEqual([60_000, 60_000, 30_000]);
});

test.each<[string, number, string[]]>([
  ['', 3, []],
  ['abc', 3, ['abc']],
  ['abcd', 3, ['abc', 'd']],
  ['ab😀cd', 3, ['ab', '😀c', 'd']],
])('%j in pieces of %i', (text, most, pieces) => {
  expect(splitText(text, most)).toEqual(pieces);
});
