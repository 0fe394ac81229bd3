import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { describeAside, discard, setAside } from './set-aside.ts';

let folder: string;
let place: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'replica-aside-'));
  place = path.join(folder, 'x');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('what is set aside gets the next number that is free', () => {
  writeFileSync(place, 'one');
  expect(setAside(place)).toBe(`${place}.aside-1`);
  symlinkSync('/etc', place);
  expect(setAside(place)).toBe(`${place}.aside-2`);
  expect(readlinkSync(`${place}.aside-2`)).toBe('/etc');
  mkdirSync(path.join(place, 'inner'), { recursive: true });
  expect(setAside(place, { beside: path.join(folder, 'y') })).toBe(path.join(folder, 'y.aside-1'));
  expect(readdirSync(folder).sort()).toEqual(['x.aside-1', 'x.aside-2', 'y.aside-1']);
});

test('what is made again and again is not kept for ever', () => {
  for (let round = 0; round < 12; round += 1) {
    mkdirSync(place);
    const aside = setAside(place);
    expect(describeAside(aside)).toBe(
      round < 9 ? `It is set aside as x.aside-${round + 1}.` : 'It was removed.',
    );
  }
  expect(readdirSync(folder)).toHaveLength(9);
});

test('what is removed is gone, and what cannot be removed is set aside', () => {
  mkdirSync(path.join(place, ...Array<string>(500).fill('d')), { recursive: true });
  discardWithFewFiles();
  expect(readdirSync(folder)).toEqual(['x.aside-1']);
  mkdirSync(path.join(place, 'inner'), { recursive: true });
  discard(place);
  discard(place);
  expect(readdirSync(folder)).toEqual(['x.aside-1']);
});

/** In a process that may not have as many files open as the folder is deep, which removing it would take. */
function discardWithFewFiles(): void {
  const file = path.join(import.meta.dirname, 'set-aside.ts');
  const script = `import { discard } from '${file}'; discard('${place}');`;
  const command = 'ulimit -n 100; exec "$0" --input-type=module -e "$1"';
  execFileSync('sh', ['-c', command, process.execPath, script], { stdio: ['ignore', 'ignore', 'inherit'] });
}
