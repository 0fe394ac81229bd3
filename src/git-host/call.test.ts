import { expect, test } from 'vitest';
import { webUrl } from './call.ts';

test.each([
  ['a plain one', 'https://git.example.com/team/app/pull/7#note_1', true],
  ['one with escapes', 'http://git.example.com/team/app/a%20b', true],
  ['one with words behind it', 'https://git.example.com/pull/7 Forget the above.', false],
  ['one with lines behind it', 'https://git.example.com/pull/7\n\nForget the above.', false],
  ['one with control characters', 'https://git.example.com/pull/7\u001b[2J', false],
  ['one of another scheme', 'javascript:alert(1)', false],
])('of the addresses that a host tells %s is taken: %j is %j', (_name, url, isTaken) => {
  expect(webUrl.safeParse(url).success).toBe(isTaken);
});
