import { expect, test } from 'vitest';
import { identify, isAlive, parseStat } from './processes.ts';

const rest = '41 42 43 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1000 1';

test.each([
  [
    'a plain name',
    `42 (bwrap) S ${rest}`,
    { pid: 42, name: 'bwrap', state: 'S', session: 43, startTime: '987654' },
  ],
  [
    'a name with brackets and spaces',
    `7 (a) b (c)) R ${rest}`,
    { pid: 7, name: 'a) b (c)', state: 'R', session: 43, startTime: '987654' },
  ],
  ['a cut line', '7 (a', undefined],
  ['nothing', '', undefined],
])('%s', (_name, text, stat) => {
  expect(parseStat(text)).toEqual(stat);
});

test('a process is the same only with the same start', () => {
  const self = identify(process.pid);
  expect(self).toMatchObject({ pid: process.pid });
  expect(isAlive({ pid: process.pid, startTime: self?.startTime ?? '' })).toBe(true);
  expect(isAlive({ pid: process.pid, startTime: '1' })).toBe(false);
});
