import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { shiftOwners } from '../../src/runtime/base/shift-owners.ts';

const isRoot = process.getuid?.() === 0;
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe.runIf(isRoot)('shiftOwners (needs root to change owners)', () => {
  test('adds to owner and group once, also of a file with two names, and keeps every mode', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'replica-shift-'));
    folders.push(folder);
    const outside = path.join(folder, 'outside');
    writeFileSync(outside, '');
    const tree = path.join(folder, 'tree');
    mkdirSync(path.join(tree, 'sub'), { recursive: true });
    writeFileSync(path.join(tree, 'program'), '');
    chownSync(path.join(tree, 'program'), 5, 42);
    chmodSync(path.join(tree, 'program'), 0o6755);
    linkSync(path.join(tree, 'program'), path.join(tree, 'sub', 'second-name'));
    symlinkSync(outside, path.join(tree, 'link'));
    symlinkSync('nowhere', path.join(tree, 'dangling'));
    chmodSync(path.join(tree, 'sub'), 0o1777);

    expect(shiftOwners(tree, 100_000)).toBe(5);

    expect(lstatSync(path.join(tree, 'program'))).toMatchObject({ uid: 100_005, gid: 100_042 });
    expect(lstatSync(path.join(tree, 'program')).mode & 0o7777).toBe(0o6755);
    for (const name of ['.', 'sub', 'link', 'dangling']) {
      expect(lstatSync(path.join(tree, name))).toMatchObject({ uid: 100_000, gid: 100_000 });
    }
    expect(lstatSync(path.join(tree, 'sub')).mode & 0o7777).toBe(0o1777);
    expect(lstatSync(outside)).toMatchObject({ uid: 0, gid: 0 });
  });
});
