import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tidyHome } from './tidy-home.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), 'replica-home-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const at = (name: string) => path.join(home, name);
const kinds: Record<string, (file: string) => void> = {
  file: (file) => writeFileSync(file, 'x'),
  fifo: (file) => execFileSync('mkfifo', [file]),
  link: (file) => symlinkSync('/', file),
  folder: (file) => mkdirSync(path.join(file, 'inner'), { recursive: true }),
};
function tidy(): string[] {
  const warnings: string[] = [];
  tidyHome(home, { warn: (sentence) => warnings.push(sentence) });
  return warnings;
}
function plant(name: string, kind: string): void {
  mkdirSync(path.dirname(at(name)), { recursive: true });
  kinds[kind]?.(at(name));
}

test('a home without anything, and one as it should be, stay as they are', () => {
  expect(tidy()).toEqual([]);
  expect(readdirSync(home)).toEqual([]);
  for (const name of [
    '.replica/engine/turns',
    '.replica/engine/outbox',
    '.replica/canvas',
    '.replica/skills',
  ])
    mkdirSync(at(name), { recursive: true });
  for (const name of ['engine/turns/a.json', 'engine/bases.json', 'mcp.json', 'canvas/plan.md'])
    writeFileSync(at(`.replica/${name}`), '{}');
  const before = path.join(home, '..', `${path.basename(home)}-before`);
  cpSync(home, before, { recursive: true });
  expect(tidy()).toEqual([]);
  expect(execFileSync('diff', ['-r', before, home], { encoding: 'utf8' })).toBe('');
  rmSync(before, { recursive: true });
});

test.each(
  [
    ['.replica', 'folder'],
    ['.replica/engine', 'folder'],
    ['.replica/engine/turns', 'folder'],
    ['.replica/engine/conversations', 'folder'],
    ['.replica/engine/outbox', 'folder'],
    ['.replica/engine/tmp', 'folder'],
    ['.replica/engine/clones', 'folder'],
    ['.replica/canvas', 'folder'],
    ['.replica/skills', 'folder'],
    ['.replica/engine/bases.json', 'file'],
    ['.replica/engine/shadows.json', 'file'],
    ['.replica/engine/canvas.json', 'file'],
    ['.replica/installed-skills.json', 'file'],
    ['.replica/gitconfig', 'file'],
    ['.replica/mcp.json', 'file'],
    ['.replica/system-prompt.md', 'file'],
  ].flatMap(([name = '', wanted = '']) =>
    Object.keys(kinds)
      .filter((kind) => kind !== wanted)
      .map((kind) => [name, wanted, kind]),
  ),
)('~/%s has to be a %s: a %s is set aside', (name = '', wanted, kind = '') => {
  plant(name, kind);
  expect(tidy()).toEqual([
    `~/${name} was a ${kind} in place of a ${wanted}. It is set aside as ${path.basename(name)}.aside-1.`,
  ]);
  expect(existsSync(at(name))).toBe(false);
  expect(lstatSync(at(`${name}.aside-1`)).isSymbolicLink()).toBe(kind === 'link');
  expect(tidy()).toEqual([]);
});

test('a file that is too large to be read is set aside', () => {
  plant('.replica/engine/bases.json', 'file');
  truncateSync(at('.replica/engine/bases.json'), 2 ** 40);
  expect(tidy()).toEqual([
    '~/.replica/engine/bases.json was too large to be read. It is set aside as bases.json.aside-1.',
  ]);
});

test('a folder that somebody has filled is set aside', () => {
  mkdirSync(at('.replica/engine/turns'), { recursive: true });
  execFileSync('sh', ['-c', 'seq 10001 | xargs touch'], { cwd: at('.replica/engine/turns') });
  expect(tidy()).toEqual(['~/.replica/engine/turns was full of files. It is set aside as turns.aside-1.']);
});

test('what is no plain file among turns is removed, and the turns stay', () => {
  for (const kind of Object.keys(kinds)) plant(`.replica/engine/turns/${kind}.json`, kind);
  expect(tidy()).toEqual(['~/.replica/engine/turns held what is no plain file. It was removed.']);
  expect(readdirSync(at('.replica/engine/turns'))).toEqual(['file.json']);
});

test('the folder of repositories may be a link to another folder, and nothing else', () => {
  mkdirSync(at('elsewhere'));
  symlinkSync('elsewhere', at('workspaces'));
  expect(tidy()).toEqual([]);
  rmSync(at('elsewhere'), { recursive: true });
  expect(tidy()).toEqual([
    '~/workspaces was a link in place of a folder. It is set aside as workspaces.aside-1.',
  ]);
});
