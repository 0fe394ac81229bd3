import { expect, test } from 'vitest';
import { fenced } from './fence.ts';

test.each([
  ['plain words', 'hello', '```\nhello\n```'],
  ['backticks', 'a `b` c', '```\na `b` c\n```'],
  ['a fence of its own', '```\nend\n```', '````\n```\nend\n```\n````'],
  [
    'a longer fence',
    `x\n${'`'.repeat(9)}\ny`,
    `${'`'.repeat(10)}\nx\n${'`'.repeat(9)}\ny\n${'`'.repeat(10)}`,
  ],
  ['nothing', '', '```\n\n```'],
])('%s cannot leave the block', (_name, text, block) => {
  expect(fenced(text)).toBe(block);
});

test('the block says what language it is in', () => {
  expect(fenced('{}', 'json')).toBe('```json\n{}\n```');
});
