import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { identify, isAlive, listByVariable, parseStat } from './processes.ts';

const rest = '41 42 43 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1000 1';

test.each([
  ['a plain name', `42 (bwrap) S ${rest}`, { pid: 42, name: 'bwrap', state: 'S', startTime: '987654' }],
  [
    'a name with brackets and spaces',
    `7 (a) b (c)) R ${rest}`,
    { pid: 7, name: 'a) b (c)', state: 'R', startTime: '987654' },
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

test.skipIf(process.platform !== 'linux')(
  'a process is found by a variable, and by the whole of it',
  async () => {
    const child = spawn('sleep', ['60'], { env: { A: 'b', REPLICA_TRIED: 'one' }, stdio: 'ignore' });
    await once(child, 'spawn');
    try {
      expect(listByVariable('REPLICA_TRIED', 'one')).toMatchObject([{ pid: child.pid }]);
      for (const [name, value] of [
        ['REPLICA_TRIED', 'on'],
        ['TRIED', 'one'],
        ['REPLICA_TRIED', 'one '],
      ] as const)
        expect(listByVariable(name, value)).toEqual([]);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    expect(listByVariable('REPLICA_TRIED', 'one')).toEqual([]);
  },
);
