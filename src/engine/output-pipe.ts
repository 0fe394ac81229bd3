import { execFile } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { makeOwnFolder } from './make-own-folder.ts';

export type OutputPipe = {
  /** For the standard output and error of a process; both in one keeps the order of what they say. */
  writeEnd: number;
  readEnd: Socket;
  /** When everybody who writes has ended too, the read end ends. */
  closeWriteEnd(): void;
};

/**
 * A real pipe. What Node gives a child is a socket, and scripts that write to /dev/stderr by name fail on one.
 */
export async function openOutputPipe(folder: string, name: string): Promise<OutputPipe> {
  makeOwnFolder(folder);
  const file = path.join(folder, `${name}.pipe`);
  rmSync(file, { force: true });
  await promisify(execFile)('mkfifo', ['-m', '600', file]);
  try {
    const readEnd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (!fstatSync(readEnd).isFIFO()) throw new Error('something else has taken the place of a pipe');
    // Opened a second time, because the process that gets it must wait when the pipe is full, and this one must not;
    // by its descriptor, because the name may lead to a pipe nobody reads by now, whose opening would never end.
    const writeEnd = openSync(`/proc/self/fd/${readEnd}`, constants.O_WRONLY);
    return {
      writeEnd,
      readEnd: new Socket({ fd: readEnd, readable: true, writable: false }),
      closeWriteEnd: () => closeSync(writeEnd),
    };
  } finally {
    rmSync(file, { force: true });
  }
}
