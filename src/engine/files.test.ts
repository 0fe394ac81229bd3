import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { fileMode, placeFiles } from './files.ts';

let root: string;
let home: string;
let outside: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'replica-files-'));
  home = path.join(root, 'home');
  outside = path.join(root, 'outside');
  mkdirSync(home);
  mkdirSync(outside);
  writeFileSync(path.join(outside, 'secret'), 'untouched');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const place = (file: string, text = 'content') =>
  placeFiles(home, [{ path: file, contentBase64: Buffer.from(text).toString('base64') }]);
const inHome = (file: string) => path.join(home, file);
const read = (file: string) => readFileSync(inHome(file), 'utf8');

test('a file is placed with the folders above it', () => {
  expect(place('~/.config/tool/settings.json')).toEqual({
    written: ['~/.config/tool/settings.json'],
    warnings: [],
  });
  expect(read('.config/tool/settings.json')).toBe('content');
});

test('a file takes the place of an older one, and is left alone when it is right', () => {
  place('~/a', 'old');
  place('~/a', 'new');
  expect(read('a')).toBe('new');
  const { ino } = statSync(inHome('a'));
  place('~/a', 'new');
  expect(statSync(inHome('a')).ino).toBe(ino);
});

test.each([
  '~/../outside/secret',
  '~/a/../../outside/secret',
  '~/./a',
  '~//a',
  '~/a/',
  '~/a\0b',
  '/etc/passwd',
])('the path %j is refused', (file) => {
  expect(place(file)).toMatchObject({
    written: [],
    warnings: [expect.stringMatching(/not one below the home/)],
  });
});

test('a link in its place is replaced, not followed', () => {
  symlinkSync(path.join(outside, 'secret'), inHome('a'));
  expect(place('~/a').written).toEqual(['~/a']);
  expect(lstatSync(inHome('a')).isFile()).toBe(true);
  expect(readFileSync(path.join(outside, 'secret'), 'utf8')).toBe('untouched');
});

test.each<[string, string, RegExp]>([
  ['out of the home directory', '../outside', /leads out of the home directory/],
  ['to the root', '/', /leads out of the home directory/],
  ['to the folder above', '..', /leads out of the home directory/],
  ['nowhere', 'missing', /leads nowhere/],
  ['to itself', 'link', /leads nowhere/],
])('a link on the way that leads %s is not followed', (_, target, reason) => {
  symlinkSync(target, inHome('link'));
  expect(place('~/link/secret').warnings).toEqual([expect.stringMatching(reason)]);
  expect(readFileSync(path.join(outside, 'secret'), 'utf8')).toBe('untouched');
});

test('a link on the way that stays in the home directory is followed', () => {
  mkdirSync(inHome('dotfiles/config'), { recursive: true });
  symlinkSync('dotfiles/config', inHome('.config'));
  expect(place('~/.config/tool/settings').warnings).toEqual([]);
  expect(read('dotfiles/config/tool/settings')).toBe('content');
  expect(readlinkSync(inHome('.config'))).toBe('dotfiles/config');
});

test('a file or a folder in the way is a warning', () => {
  mkdirSync(inHome('folder'));
  writeFileSync(inHome('file'), '');
  expect(place('~/folder').warnings).toEqual([
    'The file ~/folder was not written: a folder is in its place.',
  ]);
  expect(place('~/file/a').warnings).toEqual([
    'The file ~/file/a was not written: file on the way to it is not a folder.',
  ]);
});

test('folders under the names that are used on the way are a warning', () => {
  for (let number = 1; number <= 200; number += 1) mkdirSync(inHome(`.replica-${process.pid}-${number}.tmp`));
  expect(place('~/file').warnings).toEqual([
    'The file ~/file was not written: the names beside it are taken.',
  ]);
});

test.each<[string, number]>([
  ['.ssh/config', 0o600],
  ['.ssh/keys/deploy', 0o600],
  ['.npmrc', 0o600],
  ['workspaces/app/.env', 0o600],
  ['workspaces/app/.env.local', 0o600],
  ['.aws/credentials', 0o600],
  ['certificates/server.key', 0o600],
  ['.bashrc', 0o644],
  ['.config/tool.json', 0o644],
  ['notes.md', 0o644],
])('~/%s has the mode %o', (file, mode) => {
  expect(fileMode(file.split('/'))).toBe(mode);
  place(`~/${file}`);
  expect(statSync(inHome(file)).mode & 0o777).toBe(mode);
});

test('the folder of ssh is for its owner only', () => {
  place('~/.ssh/config');
  expect(statSync(inHome('.ssh')).mode & 0o777).toBe(0o700);
});
