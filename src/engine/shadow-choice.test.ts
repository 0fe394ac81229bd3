import { describe, expect, test } from 'vitest';
import { type Candidate, chooseLeftOut, describeLeftOut, diffLeftOut } from './shadow-choice.ts';

const limits = { maxFileBytes: 100, maxTotalBytes: 150 };
const file = (path: string, bytes: number, isTracked = false): Candidate => ({
  path,
  rawPath: path,
  bytes,
  isTracked,
  isFolder: false,
});
const folder = (path: string): Candidate => ({
  path,
  rawPath: path,
  bytes: 0,
  isTracked: false,
  isFolder: true,
});

describe('what a shadow leaves out', () => {
  test.each([
    ['nothing', [], []],
    ['what fits', [file('a', 100), file('b', 50)], []],
    ['a file above the limit', [file('a', 101), file('b', 50)], ['a']],
    ['what is too much together', [file('a', 90), file('b', 61), file('c', 60)], ['b']],
    ['a repository inside', [folder('x/'), file('a', 1)], ['x/']],
  ])('leaves %s as expected', (_name, candidates, expected) => {
    expect(chooseLeftOut(candidates, limits).map(({ path }) => path)).toEqual(expected);
  });

  test('is told to the user in a sentence', () => {
    expect(describeLeftOut([])).toBe(null);
    expect(describeLeftOut([file('data.bin', 3 * 1_048_576)])).toBe(
      'Not all uncommitted work can be kept outside: data.bin is too large (3.0 MiB).',
    );
    expect(describeLeftOut([folder('vendor/x/'), file('a', 1), file('b', 1)])).toBe(
      'Not all uncommitted work can be kept outside: vendor/x/ is a repository of its own, and 2 more are left out too.',
    );
  });

  test('stands in the diff as binary files do', () => {
    expect(diffLeftOut([file('a b', 1), file('odd\n"', 1, true), folder('x/')])).toBe(
      'diff --git a/a b b/a b\nnew file mode 100644\nBinary files /dev/null and b/a b differ\n' +
        'diff --git "a/odd\\n\\"" "b/odd\\n\\""\nBinary files "a/odd\\n\\"" and "b/odd\\n\\"" differ\n',
    );
  });
});
