import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readOwnFile, readOwnJson } from './read-own-file.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'replica-own-file-'));
  file = path.join(folder, 'file');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a file up to the limit is read', () => {
  writeFileSync(file, '{"a":1}');
  expect(readOwnFile(file, 7)).toEqual(Buffer.from('{"a":1}'));
  expect(readOwnFile(file, 6)).toBe(null);
  expect(readOwnJson(file, 7)).toEqual({ a: 1 });
  writeFileSync(file, '');
  expect(readOwnFile(file, 7)).toEqual(Buffer.alloc(0));
});

test.each<[string, () => void]>([
  ['nothing', () => {}],
  ['a fifo', () => execFileSync('mkfifo', [file])],
  ['a folder', () => mkdirSync(file)],
  ['a link to a file', () => symlinkSync('/etc/passwd', file)],
  ['a link to itself', () => symlinkSync('file', file)],
  ['a link to a device', () => symlinkSync('/dev/zero', file)],
  ['a huge file', () => plantHuge()],
])('%s is not read', (_what, plant) => {
  plant();
  expect(readOwnFile(file, 1_000_000)).toBe(null);
  expect(readOwnJson(file, 1_000_000)).toBe(undefined);
});

test('garbage is no value', () => {
  writeFileSync(file, Buffer.from([0xff, 0x00, 0x7b]));
  expect(readOwnJson(file, 1_000)).toBe(undefined);
});

function plantHuge(): void {
  writeFileSync(file, '');
  truncateSync(file, 2 ** 40);
}
