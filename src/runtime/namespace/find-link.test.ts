import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findLink } from './find-link.ts';

let tree: string;
beforeEach(() => {
  tree = mkdtempSync(path.join(tmpdir(), 'replica-tree-'));
  mkdirSync(path.join(tree, 'home'));
  writeFileSync(path.join(tree, 'file'), '');
  symlinkSync('/etc', path.join(tree, 'opt'));
  symlinkSync('/nowhere', path.join(tree, 'lost'));
});
afterEach(() => rmSync(tree, { recursive: true }));

test.each<[string, string[], string | undefined]>([
  ['folders, and what is missing', ['/home', '/home/replica', '/none'], undefined],
  ['a path below a file', ['/file', '/file/x'], undefined],
  ['a link above the others', ['/home', '/opt', '/opt/passwd'], '/opt'],
  ['a link that leads nowhere', ['/lost'], '/lost'],
])('%s', (_name, paths, link) => {
  expect(findLink(tree, paths)).toBe(link);
});
