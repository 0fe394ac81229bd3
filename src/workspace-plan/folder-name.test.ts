import { expect, test } from 'vitest';
import { folderNames } from './folder-name.ts';

test.each([
  [[], []],
  [
    ['web', 'api'],
    ['web', 'api'],
  ],
  [
    ['web', 'web', 'web'],
    ['web', 'web-2', 'web-3'],
  ],
  [
    ['web', 'web', 'web-2'],
    ['web', 'web-2', 'web-2-2'],
  ],
  [
    ['web-2', 'web', 'web'],
    ['web-2', 'web', 'web-3'],
  ],
  [
    ['.git', '.GIT', 'git'],
    ['git', 'git-2', 'git-3'],
  ],
])('repositories named %j have the folders %j', (names, folders) => {
  expect(folderNames(names)).toEqual(folders);
});

test('a name that is too long for a folder is cut, and still differs from its like', () => {
  const [first = '', second = ''] = folderNames([`${'ä'.repeat(200)}1`, `${'ä'.repeat(200)}2`]);
  expect(Buffer.byteLength(second)).toBeLessThanOrEqual(255);
  expect(second).toBe(`${first}-2`);
});
