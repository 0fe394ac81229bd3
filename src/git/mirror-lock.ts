import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { tryLockFile } from '../lib/folder-lock.ts';

const firstLookMs = 10;
const slowestLookMs = 250;

/** Waits until no other process holds the lock, and returns the function that gives it back. */
export async function lockMirror(file: string, signal: AbortSignal): Promise<() => void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  for (let waitMs = firstLookMs; ; waitMs = Math.min(waitMs * 2, slowestLookMs)) {
    signal.throwIfAborted();
    const unlock = tryLockFile(file);
    if (unlock) return unlock;
    await delay(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}
