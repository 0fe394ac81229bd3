import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { endProcesses, identifyProcess, isSameProcess } from '../../src/runtime/process/process-table.ts';

describe.runIf(process.platform === 'linux')('endProcesses (reads /proc)', () => {
  test('ends also what has left its parent and its session, and nobody else', async () => {
    const home = mkdtempSync(path.join(tmpdir(), 'replica-table-'));
    const bystander = spawn('sleep', ['1000'], { stdio: 'ignore' });
    const leader = spawn('sh', ['-c', script], {
      env: { PATH: process.env.PATH, HOME: home },
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const pids: number[] = [];
      for await (const line of createInterface({ input: leader.stdout })) {
        pids.push(Number(line));
        if (pids.length === 4) break;
      }
      await endProcesses(home);
      expect(pids.map(identifyProcess)).toEqual([null, null, null, null]);
      expect(identifyProcess(Number(bystander.pid))).not.toBeNull();
    } finally {
      bystander.kill('SIGKILL');
      await endProcesses(home);
      rmSync(home, { recursive: true, force: true });
    }
  });
});

/** A shell, its child, one that has left the session, and one without the environment. */
const script = `
  echo $$
  sleep 1000 & echo $!
  setsid sh -c 'echo $$; exec sleep 1000' &
  env -i "PATH=$PATH" sh -c 'echo $$; exec sleep 1000' &
  wait
`;

describe('isSameProcess', () => {
  const one = { pid: 7, startTicks: 100, boot: 'a' };
  test.each([
    ['itself', one, true],
    ['a later process of the same number', { ...one, startTicks: 200 }, false],
    ['one from before the machine started anew', { ...one, boot: 'b' }, false],
    ['none', null, false],
  ])('compared with %s', (_, other, expected) => {
    expect(isSameProcess(one, other)).toBe(expected);
  });
});
