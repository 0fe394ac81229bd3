import { closeSync, constants, fchmodSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { checkParts, PlacementError, useHomeFolder } from './home-folder.ts';
import { readOwnFile } from './read-own-file.ts';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
const MAX_TRIES = 20;
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
    if (readOwnFile(file, content.length)?.equals(content)) return;
    const temporary = writeTemporary(folder, { content, mode });
    try {
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

/** What a process before this one has left is replaced. Somebody may have put a folder there, so there are more names. */
function writeTemporary(folder: string, given: { content: Buffer; mode: number }): string {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    temporaries += 1;
    const temporary = path.join(folder, `.replica-${process.pid}-${temporaries}.tmp`);
    try {
      writeNew(temporary, given);
      return temporary;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ERR_FS_EISDIR' || code === 'EEXIST') continue;
      rmSync(temporary, { force: true });
      throw error;
    }
  }
  throw new PlacementError('the names beside it are taken');
}

function writeNew(file: string, { content, mode }: { content: Buffer; mode: number }): void {
  rmSync(file, { force: true });
  const descriptor = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  try {
    for (let done = 0; done < content.length; ) done += writeSync(descriptor, content, done);
    fchmodSync(descriptor, mode);
  } finally {
    closeSync(descriptor);
  }
}
