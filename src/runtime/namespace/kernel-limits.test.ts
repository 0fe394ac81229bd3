import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Logger, pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { inotifyShares, raiseKernelLimits, readKernelLimits } from './kernel-limits.ts';

const memoryBytes = 1024 ** 3;
const names = ['inotify/max_user_instances', 'inotify/max_user_watches', 'file-max'];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'replica-settings-'));
  mkdirSync(path.join(folder, 'fs', 'inotify'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (values: number[]) =>
  names.forEach((name, index) => {
    writeFileSync(path.join(folder, 'fs', name), `${values[index]}\n`);
  });
const read = () => names.map((name) => Number(readFileSync(path.join(folder, 'fs', name), 'utf8')));

function collectingLog(): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  return { log: pino({}, { write: (line: string) => lines.push(line) }), lines };
}

test.each<[string, 'own_range' | 'service_user', number[], number[], number]>([
  ['raises what is low', 'own_range', [128, 8_192, 1_000], [2_097_152, 16_777_216, 8_388_608], 1],
  ['lowers nothing', 'own_range', [128, 2 ** 31 - 1, 2 ** 60], [2_097_152, 2 ** 31 - 1, 2 ** 60], 1],
  [
    'leaves what is enough, without a word',
    'own_range',
    [2_097_152, 16_777_216, 8_388_608],
    [2_097_152, 16_777_216, 8_388_608],
    0,
  ],
  ['of an ordinary user leaves everything', 'service_user', [128, 8_192, 1_000], [128, 8_192, 1_000], 0],
])('a start %s', (_name, identity, before, after, told) => {
  write(before);
  const { log, lines } = collectingLog();
  raiseKernelLimits({ identity, memoryBytes, folder, log });
  expect([read(), lines.length]).toEqual([after, told]);
});

test('a setting that this kernel lacks is left out, and an ordinary user is told of two', () => {
  write([128, 8_192, 1_000]);
  const namesFor = (identity: 'own_range' | 'service_user') =>
    readKernelLimits({ identity, folder }).map(({ name }) => name);
  expect(namesFor('own_range')).toEqual([
    'fs.inotify.max_user_instances',
    'fs.inotify.max_user_watches',
    'fs.file-max',
  ]);
  expect(namesFor('service_user')).toEqual(['fs.inotify.max_user_instances', 'fs.inotify.max_user_watches']);
  rmSync(path.join(folder, 'fs', 'inotify'), { recursive: true });
  expect(namesFor('service_user')).toEqual([]);
});

test.each<[string, number[], string[]]>([
  ['a quarter of little', [128, 8_192, 0], ['max_inotify_instances=32', 'max_inotify_watches=2048']],
  ['one of nearly nothing', [1, 8_192, 0], ['max_inotify_instances=1', 'max_inotify_watches=2048']],
  [
    'what programs need of plenty',
    [10 ** 6, 10 ** 8, 0],
    ['max_inotify_instances=1024', 'max_inotify_watches=524288'],
  ],
])('a sandbox of an ordinary user may take %s', (_name, values, shares) => {
  write(values);
  expect(inotifyShares(readKernelLimits({ identity: 'service_user', folder }))).toEqual(shares);
});
