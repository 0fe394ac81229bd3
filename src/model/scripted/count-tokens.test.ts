import { expect, test } from 'vitest';
import { countRequestTokens, countTextTokens } from './count-tokens.ts';

test.each([
  ['an empty body', '', 1],
  ['words', 'four and twenty words', 6],
  ['two images', `{"a":"${'A'.repeat(2_000)}","b":"${'b+/9='.repeat(1_000)}"}`, 3_004],
  ['a long word', 'a'.repeat(1_999), 500],
])('counts %s', (_name, body, expected) => {
  expect(countRequestTokens(Buffer.from(body))).toBe(expected);
});

test('counts a text', () => {
  expect(countTextTokens('')).toBe(0);
  expect(countTextTokens('12345')).toBe(2);
});
