import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { checkParts, PlacementError, useHomeFolder } from './home-folder.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
let temporaries = 0;

/**
 * Places a file below the home directory, whole or not at all. A link in its place is replaced, not followed; a file
 * that is already right is left alone, so that nothing that watches it wakes up.
 */
export function writeHomeFile({
  home,
  parts,
  content,
  mode,
}: {
  home: string;
  parts: readonly string[];
  content: Buffer;
  mode: number;
}): void {
  useParent(home, parts, (folder, file) => {
    if (holds(file, content)) return;
    temporaries += 1;
    const temporary = path.join(folder, `.replica-${process.pid}-${temporaries}.tmp`);
    try {
      writeNew(temporary, content, mode);
      renameSync(temporary, file);
    } catch (error) {
      rmSync(temporary, { force: true });
      if ((error as NodeJS.ErrnoException).code === 'EISDIR')
        throw new PlacementError('a folder is in its place');
      throw error;
    }
  });
}

export function removeHomeFile(home: string, parts: readonly string[]): void {
  useParent(home, parts, (_folder, file) => rmSync(file, { force: true }));
}

function useParent(
  home: string,
  parts: readonly string[],
  use: (folder: string, file: string) => void,
): void {
  const name = parts.at(-1) ?? '';
  checkParts([name]);
  useHomeFolder(home, parts.slice(0, -1), (folder) => use(folder, path.join(folder, name)));
}

function writeNew(file: string, content: Buffer, mode: number): void {
  rmSync(file, { force: true });
  const descriptor = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    for (let done = 0; done < content.length; ) done += writeSync(descriptor, content, done);
    fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}

function holds(file: string, content: Buffer): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const stats = fstatSync(descriptor);
    return stats.isFile() && stats.size === content.length && readFileSync(descriptor).equals(content);
  } finally {
    closeSync(descriptor);
  }
}
