import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { chooseBase, rootfsLink } from './choose.ts';

describe('chooseBase', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = realpathSync(mkdtempSync(path.join(tmpdir(), 'replica-base-')));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  function makeTree(): string {
    const tree = path.join(dataDir, 'base', 'tree-1');
    mkdirSync(tree, { recursive: true });
    symlinkSync('tree-1', rootfsLink(dataDir));
    return tree;
  }

  test("takes the machine's programs where there is no tree, or only a link to one that is gone", () => {
    expect(chooseBase(dataDir)).toEqual({ kind: 'host' });
    rmSync(makeTree(), { recursive: true });
    expect(chooseBase(dataDir)).toEqual({ kind: 'host' });
  });

  test('takes the tree that the link leads to, if this is root', () => {
    const folder = makeTree();
    const isRoot = process.getuid?.() === 0;
    expect(chooseBase(dataDir)).toEqual(isRoot ? { kind: 'rootfs', folder } : { kind: 'host' });
  });
});
