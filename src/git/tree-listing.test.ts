import { describe, expect, test } from 'vitest';
import { GitError } from './failure.ts';
import { parseTree } from './tree-listing.ts';

const object = 'a'.repeat(40);

function output(...records: (string | Buffer)[]): Buffer {
  return Buffer.concat(records.flatMap((record) => [Buffer.from(record), Buffer.of(0)]));
}

describe('parseTree', () => {
  test.each([
    [`100644 blob ${object}      12\ta/b.txt`, { path: 'a/b.txt', size: 12, kind: 'file' }],
    [`100755 blob ${object} 1234567\trun`, { path: 'run', size: 1234567, kind: 'file' }],
    [`120000 blob ${object}       7\tlink`, { path: 'link', size: 7, kind: 'link' }],
    [`160000 commit ${object}       -\tsub`, { path: 'sub', size: 0, kind: 'submodule' }],
    [`100644 blob ${object}       0\ta\tb\n"c" d`, { path: 'a\tb\n"c" d', size: 0, kind: 'file' }],
    [`100644 blob ${object}       0\t\ufeffx`, { path: '\ufeffx', size: 0, kind: 'file' }],
  ])('%j is read', (record, entry) => {
    const listing = parseTree(output(record), { maxEntries: 1 });
    expect(listing.entries).toEqual([entry]);
    expect(listing.records.get(entry.path)).toEqual({ ...entry, object });
  });

  test.each(['../x', 'a/../../x', '/etc/passwd', 'a//b', './a', '.git/config', 'a/.GIT/hooks/x', ''])(
    'the path %j is left out',
    (path) =>
      expect(parseTree(output(`100644 blob ${object} 1\t${path}`), { maxEntries: 1 }).entries).toEqual([]),
  );

  test('a path that is no UTF-8 is left out, and its neighbours stay', () => {
    const odd = Buffer.concat([Buffer.from(`100644 blob ${object} 1\tb`), Buffer.of(0xff, 0xfe)]);
    const listing = parseTree(output(`100644 blob ${object} 1\ta`, odd, `100644 blob ${object} 1\tc`), {
      maxEntries: 3,
    });
    expect(listing.entries.map((entry) => entry.path)).toEqual(['a', 'c']);
  });

  test('one entry too many is refused', () => {
    const records = output(`100644 blob ${object} 1\ta`, `100644 blob ${object} 1\tb`);
    expect(() => parseTree(records, { maxEntries: 1 })).toThrow(GitError);
    expect(parseTree(records, { maxEntries: 2 }).entries).toHaveLength(2);
  });
});
