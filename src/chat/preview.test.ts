import { expect, test } from 'vitest';
import { previewOf } from './preview.ts';

test.each([
  ['short text stays as it is', 'Fix the bug', 'Fix the bug'],
  ['lines become one', ' Fix\n\n\tthe  bug \n', 'Fix the bug'],
  ['exactly 200 characters stay whole', 'x'.repeat(200), 'x'.repeat(200)],
  ['201 characters end with a mark', 'x'.repeat(201), `${'x'.repeat(199)}…`],
  ['characters beyond the basic plane count once', '😀'.repeat(200), '😀'.repeat(200)],
  ['and are not cut in two', '😀'.repeat(300), `${'😀'.repeat(199)}…`],
  ['no space stands before the mark', `${'x'.repeat(198)} yyyy`, `${'x'.repeat(198)}…`],
  ['empty text', '', ''],
])('%s', (_what, text, expected) => {
  expect(previewOf(text)).toBe(expected);
});

test('a preview is well-formed and bounded, whatever the text', () => {
  for (const text of ['a'.repeat(1_599) + '😀'.repeat(10), '\ud800'.repeat(3_000), ' '.repeat(5_000)]) {
    const preview = previewOf(text);
    expect(preview.isWellFormed()).toBe(true);
    expect([...preview].length).toBeLessThanOrEqual(200);
  }
});
