import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SandboxLostError } from '../../src/runtime/driver.ts';
import { createFolders, type Folders } from '../../src/runtime/process/folders.ts';

let root: string;
let folders: Folders;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'replica-folders-'));
  folders = createFolders(root);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('createFolders', () => {
  test.each(['', '.', '..', '../x', 'a/b', '-rf', 'a\0b'])('refuses %j as a key or a layer', (name) => {
    expect(() => folders.sandbox(name)).toThrow('cannot name');
    expect(() => folders.hasLayer(name)).toThrow('cannot name');
  });

  test('a copy that was broken off is begun anew', async () => {
    const partial = path.join(folders.sandbox('one'), 'home.partial');
    mkdirSync(partial, { recursive: true });
    writeFileSync(path.join(partial, 'half'), '');
    expect(folders.hasDisk('one')).toBe(false);
    await folders.makeDisk('one', undefined);
    expect(folders.hasDisk('one')).toBe(true);
    expect(existsSync(path.join(folders.home('one'), 'half'))).toBe(false);
  });

  test('links are copied as links and named pipes do not stop the copy', async () => {
    await folders.makeDisk('one', undefined);
    const home = folders.home('one');
    symlinkSync('/etc/passwd', path.join(home, 'link'));
    execFileSync('mkfifo', [path.join(home, 'pipe')]);
    writeFileSync(path.join(home, '.hidden'), 'text');
    await folders.turnIntoLayer('one', 'layer');
    await folders.makeDisk('two', 'layer');
    expect(readlinkSync(path.join(folders.home('two'), 'link'))).toBe('/etc/passwd');
    expect(lstatSync(path.join(folders.home('two'), 'pipe')).isFIFO()).toBe(true);
    expect(readFileSync(path.join(folders.home('two'), '.hidden'), 'utf8')).toBe('text');
  });

  test('a layer whose removal was broken off is listed and cannot be started from', async () => {
    mkdirSync(path.join(root, 'removed', 'layer'), { recursive: true });
    expect(folders.hasLayer('layer')).toBe(false);
    expect((await folders.list()).layers).toEqual(['layer']);
    await expect(folders.makeDisk('one', 'layer')).rejects.toThrow(SandboxLostError);
    await folders.removeLayer('layer');
    expect((await folders.list()).layers).toEqual([]);
  });

  test('a sandbox whose removal was broken off has no disk, is listed, and goes', async () => {
    mkdirSync(path.join(folders.sandbox('one'), 'removed'), { recursive: true });
    expect(folders.hasDisk('one')).toBe(false);
    expect((await folders.list()).keys).toEqual(['one']);
    await folders.removeSandbox('one');
    expect((await folders.list()).keys).toEqual([]);
  });
});
