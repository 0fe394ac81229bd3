import { expect, it } from 'vitest';
import { sentenceFor, UserSentenceError } from './user-sentence.ts';

it.each<[string, unknown, string]>([
  ['a sentence for users is told', new UserSentenceError('The disk is full.'), 'The disk is full.'],
  ['any other message is not', new Error('/var/lib/replica/sandboxes/1: no space'), 'It did not work.'],
  [
    'nor one below which a sentence lies',
    new Error('mount: /var', { cause: new UserSentenceError('No.') }),
    'It did not work.',
  ],
  ['nor what is no error', 'mount: /var', 'It did not work.'],
  ['nor nothing', undefined, 'It did not work.'],
])('%s', (_name, error, expected) => {
  expect(sentenceFor(error, 'It did not work.')).toBe(expected);
});
