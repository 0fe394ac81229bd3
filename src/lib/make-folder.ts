import { mkdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Makes a folder and those above it, for its owner only. Node's own recursive form never ends where the kernel
 * refuses a name in a folder that exists, as below /proc.
 */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    const parent = path.dirname(folder);
    if (code !== 'ENOENT' || parent === folder) throw error;
    makeFolder(parent);
    mkdirSync(folder, { mode: 0o700 });
  }
}
