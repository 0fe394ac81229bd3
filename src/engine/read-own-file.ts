import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/**
 * Reads a file that processes of the workspace may have replaced by anything. Null for what is not there, is no plain
 * file or is larger than allowed: links are not followed and fifos not waited for.
 */
export function readOwnFile(file: string, maxBytes: number): Buffer | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return null;
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > maxBytes) return null;
    // One byte more than it has tells whether it grows while it is read.
    const content = Buffer.allocUnsafe(stats.size + 1);
    return readSome(descriptor, content) === stats.size ? content.subarray(0, stats.size) : null;
  } catch {
    return null;
  } finally {
    closeSync(descriptor);
  }
}

/** The value of a file of JSON, or undefined where there is none that can be read. */
export function readOwnJson(file: string, maxBytes: number): unknown {
  try {
    return JSON.parse(String(readOwnFile(file, maxBytes) ?? ''));
  } catch {
    return undefined;
  }
}

function readSome(descriptor: number, content: Buffer): number {
  let done = 0;
  while (done < content.length) {
    const read = readSync(descriptor, content, done, content.length - done, done);
    if (read === 0) break;
    done += read;
  }
  return done;
}
