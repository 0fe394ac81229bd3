import { describe, expect, test } from 'vitest';
import { createDiffReader } from './diff-text.ts';

function read(text: string, { maxCharacters = 1_000, pieceBytes = 1 } = {}) {
  const reader = createDiffReader({ maxCharacters });
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length; start += pieceBytes)
    if (!reader.take(bytes.subarray(start, start + pieceBytes))) break;
  return reader.end();
}

describe('the diff reader', () => {
  test.each([
    ['nothing', '', { added: 0, removed: 0, diff: '', isDiffCut: false }],
    [
      'counts and a diff',
      '2\t1\ta\n10\t0\t"b\\n"\n\ndiff --git a/a b/a\n+é\n',
      { added: 12, removed: 1, diff: 'diff --git a/a b/a\n+é\n', isDiffCut: false },
    ],
    [
      'a binary file',
      '-\t-\tx.png\n\nBinary files a/x.png and b/x.png differ\n',
      { added: 0, removed: 0, diff: 'Binary files a/x.png and b/x.png differ\n', isDiffCut: false },
    ],
    ['a NUL', '1\t0\ta\n\n+a\0b\n', { added: 1, removed: 0, diff: '+a\uFFFDb\n', isDiffCut: false }],
  ])('reads %s, however the pieces fall', (_name, text, expected) => {
    for (const pieceBytes of [1, 3, 1_000]) expect(read(text, { pieceBytes })).toEqual(expected);
  });

  test('stops taking and cuts at a line when the diff is long', () => {
    const text = `9\t9\ta\n\n${'+0123456\n'.repeat(100)}`;
    const { diff, isDiffCut, added } = read(text, { maxCharacters: 50 });
    expect({ isDiffCut, added, length: diff.length }).toEqual({ isDiffCut: true, added: 9, length: 45 });
    expect(diff.endsWith('\n')).toBe(true);
  });

  test('keeps nothing of a line that is longer than the limit', () => {
    const cut = { added: 1, removed: 0, diff: '', isDiffCut: true };
    expect(read(`1\t0\ta\n\n${'x'.repeat(100)}`, { maxCharacters: 10 })).toEqual(cut);
  });
});
