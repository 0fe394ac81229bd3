import { describe, expect, test } from 'vitest';
import type { TreeEntry } from '../git/tree-listing.ts';
import { findSkillFolders, refuseFolder } from './skill-folder.ts';

const entry = (path: string, size = 1, kind: TreeEntry['kind'] = 'file'): TreeEntry => ({ path, size, kind });
const shown = (entries: TreeEntry[]) =>
  Object.fromEntries(
    findSkillFolders(entries, 'whole').map(({ folder, name, files }) => [
      `${folder}:${name}`,
      files.map(({ path }) => path).join(' '),
    ]),
  );

describe('findSkillFolders', () => {
  test.each<[string, string[], Record<string, string>]>([
    ['no skill', ['README.md', 'src/skill.md'], {}],
    [
      'one in a folder',
      ['README.md', 'pdf/SKILL.md', 'pdf/a/b.py'],
      { 'pdf:pdf': 'pdf/SKILL.md pdf/a/b.py' },
    ],
    ['the repository itself', ['SKILL.md', 'a/b.py'], { ':whole': 'SKILL.md a/b.py' }],
    [
      'one within another',
      ['SKILL.md', 'a/SKILL.md', 'a/x', 'a/b/SKILL.md', 'a/b/y', 'z'],
      { ':whole': 'SKILL.md z', 'a:a': 'a/SKILL.md a/x', 'a/b:b': 'a/b/SKILL.md a/b/y' },
    ],
    [
      'folders whose names begin alike',
      ['a/SKILL.md', 'a-b/SKILL.md', 'ab/x'],
      { 'a:a': 'a/SKILL.md', 'a-b:a-b': 'a-b/SKILL.md' },
    ],
    ['a folder above that is none', ['x/y/SKILL.md', 'x/z'], { 'x/y:y': 'x/y/SKILL.md' }],
  ])('finds %s', (_, paths, expected) => {
    expect(shown(paths.map((path) => entry(path)))).toEqual(expected);
  });

  test('leaves out links and submodules', () => {
    const entries = [entry('a/SKILL.md'), entry('a/link', 1, 'link'), entry('a/sub', 0, 'submodule')];
    expect(shown(entries)).toEqual({ 'a:a': 'a/SKILL.md' });
    expect(shown([entry('a/SKILL.md', 1, 'link')])).toEqual({});
  });

  test('takes no long time for paths of great depth', () => {
    const deep = 'd/'.repeat(2_000);
    const entries = [entry('SKILL.md'), ...Array.from({ length: 5_000 }, (_, at) => entry(`${deep}${at}`))];
    const startedAt = performance.now();
    expect(findSkillFolders(entries, 'whole')[0]?.files).toHaveLength(5_001);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  });
});

describe('refuseFolder', () => {
  const folder = (files: [path: string, bytes: number][]) => {
    const [found] = findSkillFolders(
      [entry('s/SKILL.md'), ...files.map(([path, bytes]) => entry(`s/${path}`, bytes))],
      'whole',
    );
    return found ? refuseFolder(found) : 'not found';
  };
  const many = (count: number) => Array.from({ length: count }, (_, at): [string, number] => [`f${at}`, 1]);
  test.each<[string, [string, number][], string | null]>([
    ['a small skill', [['a', 1]], null],
    ['as many files as may be', many(199), null],
    ['one file more', many(200), 'it has more than 200 files'],
    ['as many bytes as may be', [['a', 2 * 1_048_576 - 1]], null],
    ['one byte more', [['a', 2 * 1_048_576]], 'it holds more than 2 MiB'],
    ['a name of 255 bytes', [[`${'ä'.repeat(127)}x`, 1]], null],
    ['a name of 256 bytes', [['ä'.repeat(128), 1]], 'it has files that cannot be written to a disk'],
    ['a path of 2,000 bytes', [['d/'.repeat(1_000), 1]], 'it has files that cannot be written to a disk'],
    [
      'a file that is a folder too',
      [
        ['a', 1],
        ['a/b/c', 1],
      ],
      'it has files that cannot be written to a disk',
    ],
  ])('of %s says what is right', (_, files, expected) => {
    expect(folder(files)).toBe(expected);
  });
});
