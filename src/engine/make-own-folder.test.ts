import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { makeOwnFolder } from './make-own-folder.ts';

let root: string;
let wanted: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'replica-own-folder-'));
  wanted = path.join(root, 'home/.replica/engine/turns');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test('a folder is made with those above it, and may be there already', () => {
  makeOwnFolder(wanted);
  makeOwnFolder(wanted);
  expect(statSync(wanted).mode & 0o777).toBe(0o700);
});

test.each<[string, string, (place: string) => void]>([
  ['a link', '.replica', (place) => symlinkSync('../elsewhere', place)],
  ['a link', '.replica/engine', (place) => symlinkSync('../../elsewhere', place)],
  ['a link', '.replica/engine/turns', (place) => symlinkSync('../../../elsewhere', place)],
  ['a file', '.replica/engine', (place) => writeFileSync(place, '')],
])('nothing is made behind %s at ~/%s', (_kind, name, plant) => {
  mkdirSync(path.join(root, 'elsewhere'));
  mkdirSync(path.dirname(path.join(root, 'home', name)), { recursive: true });
  plant(path.join(root, 'home', name));
  expect(() => makeOwnFolder(wanted)).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
  expect(readdirSync(path.join(root, 'elsewhere'))).toEqual([]);
});

test('a link above ~/.replica is not the concern of the engine', () => {
  mkdirSync(path.join(root, 'elsewhere'));
  symlinkSync('elsewhere', path.join(root, 'home'));
  makeOwnFolder(wanted);
  expect(existsSync(path.join(root, 'elsewhere/.replica/engine/turns'))).toBe(true);
});
