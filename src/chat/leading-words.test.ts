import { expect, test } from 'vitest';
import { readLeadingWords } from './leading-words.ts';

const none = { plan: false, goal: false, fast: false };

test.each([
  ['plain text', 'do it', { ...none, text: 'do it' }],
  [
    'text without a word to strip stays as it is, with its white space',
    '  do it \n',
    { ...none, text: '  do it \n' },
  ],
  ['one word', '/plan do it', { ...none, plan: true, text: 'do it' }],
  [
    'all of them in any order',
    '/fast /plan\n/goal ship',
    { plan: true, goal: true, fast: true, text: 'ship' },
  ],
  ['a word twice', '/plan /plan do it', { ...none, plan: true, text: 'do it' }],
  ['white space before the first word', ' \n/fast go', { ...none, fast: true, text: 'go' }],
  ['only leading words count', '/plan do /fast', { ...none, plan: true, text: 'do /fast' }],
  ['a longer word is another word', '/planning is hard', { ...none, text: '/planning is hard' }],
  ['a word with punctuation is another word', '/plan: do it', { ...none, text: '/plan: do it' }],
  ['case counts', '/Plan do it', { ...none, text: '/Plan do it' }],
  ['an unknown word ends it', '/plan /review /fast', { ...none, plan: true, text: '/review /fast' }],
  ['nothing but words', '/plan /fast ', { ...none, plan: true, fast: true, text: '' }],
  ['the rest keeps its own white space', '/plan\n\n  a\n  b ', { ...none, plan: true, text: 'a\n  b ' }],
])('%s', (_what, text, expected) => {
  expect(readLeadingWords(text, { hasGoals: true })).toEqual(expected);
});

test.each([
  ['/goal ship', { ...none, text: '/goal ship' }],
  ['/plan /goal /fast ship', { ...none, plan: true, text: '/goal /fast ship' }],
])('where the agent knows no goals, %j keeps its /goal', (text, expected) => {
  expect(readLeadingWords(text, { hasGoals: false })).toEqual(expected);
});

test('a long message of nothing but words is read in reasonable time', () => {
  const startedAt = performance.now();
  expect(readLeadingWords('/plan '.repeat(150_000), { hasGoals: true }).text).toBe('');
  expect(performance.now() - startedAt).toBeLessThan(5_000);
});
