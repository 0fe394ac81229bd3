import { describe, expect, test } from 'vitest';
import { isBranchName, parseRefs } from './refs.ts';

const one = '1'.repeat(40);
const two = '2'.repeat(40);

describe('parseRefs', () => {
  test('HEAD, its branch and every branch are read', () => {
    const refs = parseRefs(
      `ref: refs/heads/dev\tHEAD\n${two}\tHEAD\n${two}\trefs/heads/dev\n${one}\trefs/heads/a/b\n`,
    );
    expect(refs).toEqual({
      defaultBranch: 'dev',
      headCommit: two,
      branches: new Map([
        ['dev', two],
        ['a/b', one],
      ]),
    });
  });

  test.each([
    ['nothing', '', null, null, 0],
    [
      'a HEAD without a name stands for the main branch at its commit',
      `${one}\tHEAD\n${one}\trefs/heads/a\n${one}\trefs/heads/main\n`,
      'main',
      one,
      2,
    ],
    ['a detached HEAD is no branch', `${one}\tHEAD\n${two}\trefs/heads/a\n`, null, one, 1],
    [
      'a HEAD that names a missing branch is no branch',
      `ref: refs/heads/gone\tHEAD\n${two}\trefs/heads/a\n`,
      null,
      null,
      1,
    ],
    ['a HEAD outside the branches is no branch', `ref: refs/x/y\tHEAD\n${one}\tHEAD\n`, null, one, 0],
    ['other refs are left out', `${one}\trefs/tags/v1\n${one}\trefs/x/refs/heads/y\n`, null, null, 0],
    [
      'hostile names are left out',
      `${one}\trefs/heads/a:b\n${one}\trefs/heads/--x\n${one}\trefs/heads/\ufffd\n`,
      null,
      null,
      0,
    ],
    [
      'lines of another shape are left out',
      `warning\nxyz\trefs/heads/a\n${one} refs/heads/b\n`,
      null,
      null,
      0,
    ],
  ])('%s', (_, text, defaultBranch, headCommit, count) => {
    const refs = parseRefs(text);
    expect({ ...refs, branches: refs.branches.size }).toEqual({ defaultBranch, headCommit, branches: count });
  });

  test('commits of a SHA-256 repository are read', () => {
    expect(parseRefs(`${'a'.repeat(64)}\trefs/heads/a\n`).branches.get('a')).toBe('a'.repeat(64));
  });
});

describe('isBranchName', () => {
  test.each(['main', 'feature/x', 'v1.2', 'ümlaut', 'a-b_c', 'x@y', '日本'])(
    '%s is a branch name',
    (name) => {
      expect(isBranchName(name)).toBe(true);
    },
  );
  test.each([
    '',
    '@',
    'HEAD',
    '-x',
    '/x',
    'x/',
    'x.',
    'a..b',
    'a b',
    'a:b',
    'a^b',
    'a~1',
    'a?',
    'a*',
    'a[b',
    'a\\b',
    'a@{1}',
    'a//b',
    '.a',
    'a/.b',
    'a.lock',
    'a.lock/b',
    'a\nb',
    'a\0b',
    'x'.repeat(256),
  ])('%j is no branch name', (name) => expect(isBranchName(name)).toBe(false));
});
