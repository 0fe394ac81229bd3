import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { FolderLockedError, lockFolder } from '../../src/lib/folder-lock.ts';

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'replica-lock-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  rmSync(folder, { recursive: true });
});

test('a second process is refused, and told the role, process id and start of the first', async () => {
  const first = spawnLocker('replica serve');
  expect(await first.said).toBe('locked');
  const second = spawnLocker('replica migrate');
  const refusal = await second.said;
  expect(refusal).toMatch(/^FolderLockedError: /);
  expect(refusal).toContain(`${folder} is in use by replica serve (pid ${first.child.pid}, since 20`);
});

test('kill -9 of the holder frees the folder', async () => {
  const first = spawnLocker('replica serve');
  expect(await first.said).toBe('locked');
  expect(() => lockFolder(folder, { role: 'test' })).toThrow(FolderLockedError);
  await kill(first.child);
  lockFolder(folder, { role: 'test' }).release();
});

test('of several processes that race for it exactly one wins, and the others name the winner', async () => {
  const lockers = Array.from({ length: 4 }, (_, index) => spawnLocker(`racer ${index}`));
  const said = await Promise.all(lockers.map((locker) => locker.said));
  const winners = lockers.filter((_, index) => said[index] === 'locked');
  expect(winners).toHaveLength(1);
  const losers = said.filter((line) => line !== 'locked');
  for (const line of losers) expect(line).toContain(`(pid ${winners[0]?.child.pid}, since`);
});

test('a holder that was killed is never named for the lock of its successor', async () => {
  writeFileSync(join(folder, 'lock.json'), '{"pid":4194305,"role":"dead","since":"then","host":"gone"}');
  const first = spawnLocker('replica serve');
  expect(await first.said).toBe('locked');
  expect(() => lockFolder(folder, { role: 'test' })).toThrow(`replica serve (pid ${first.child.pid},`);
});

test('release frees the folder at once, twice is once, and only the empty lock file stays', () => {
  const lock = lockFolder(folder, { role: 'test' });
  expect(() => lockFolder(folder, { role: 'test' })).toThrow(`(pid ${process.pid},`);
  expect(statSync(join(folder, 'lock.db')).mode & 0o777).toBe(0o600);
  lock.release();
  const next = lockFolder(folder, { role: 'test' });
  lock.release();
  expect(() => lockFolder(folder, { role: 'test' })).toThrow(FolderLockedError);
  next.release();
  expect(existsSync(join(folder, 'lock.json'))).toBe(false);
});

test('a folder that is not there is named', () => {
  const nowhere = join(folder, 'nowhere');
  expect(() => lockFolder(nowhere, { role: 'test' })).toThrow(`${join(nowhere, 'lock.db')} cannot be opened`);
});

test('a refused attempt within the holding process does not free the folder for others', async () => {
  const lock = lockFolder(folder, { role: 'test' });
  expect(() => lockFolder(folder, { role: 'test' })).toThrow(FolderLockedError);
  expect(await spawnLocker('other').said).toContain(`(pid ${process.pid},`);
  lock.release();
});

function spawnLocker(role: string) {
  const file = join(import.meta.dirname, 'folder-lock-process.ts');
  const child = spawn(process.execPath, ['--expose-gc', file, folder, role], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  const said = once(createInterface({ input: child.stdout }), 'line').then(([line]) => String(line));
  return { child, said };
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
