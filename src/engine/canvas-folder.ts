import { constants } from 'node:fs';
import { type FileHandle, lstat, open, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** A plain file directly in the canvas folder. */
export type CanvasFile = {
  name: string;
  size: number;
  /** Differs whenever the file may have changed; empty when it changed so lately that no clock would tell. */
  version: string;
  /** Null for a file above the limit, and for one that still has the version that was asked about. */
  content: Buffer | null;
  sha256: string | null;
};

/** The names in the folder, in order; those that are not UTF-8 cannot be said to anybody and are left out. */
export async function listNames(folder: string): Promise<string[]> {
  const status = await lstat(folder).catch(() => null);
  if (!status?.isDirectory()) return [];
  const names: string[] = [];
  // One byte in each character, so that no name is changed before it was looked at.
  for await (const entry of await opendir(folder, { encoding: 'latin1' })) {
    const bytes = Buffer.from(entry.name, 'latin1');
    if (bytes.equals(Buffer.from(bytes.toString()))) names.push(bytes.toString());
    if (names.length === MAX_NAMES) break;
  }
  return names.sort();
}

/** So many are looked at; of those that are plain files fewer are kept. */
const MAX_NAMES = 10_000;

/**
 * Reads a file unless it has the known version. Null for what is gone or no plain file: links are not followed and
 * fifos not waited for. `changing` when it was written while it was read.
 */
export async function readCanvasFile(options: {
  folder: string;
  name: string;
  knownVersion: string | undefined;
  maxBytes: number;
}): Promise<CanvasFile | 'changing' | null> {
  const { folder, name, knownVersion, maxBytes } = options;
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(folder, name), flags).catch(() => null);
  if (file === null) return null;
  try {
    const before = await look(file);
    if (before === null) return null;
    const { size, version } = before;
    if (version !== '' && version === knownVersion)
      return { name, size, version, content: null, sha256: null };
    if (size > maxBytes) return { name, size, version, content: null, sha256: null };
    const content = await readExactly(file, size);
    const after = await look(file);
    if (content === null || after?.size !== size || after.changedAt !== before.changedAt) return 'changing';
    return { name, size, version, content, sha256: hash(content) };
  } finally {
    await file.close();
  }
}

/** Asked for by name when it is needed: its module costs every engine memory, and most have no canvas. */
function hash(content: Buffer): string {
  return process.getBuiltinModule('node:crypto').createHash('sha256').update(content).digest('hex');
}

async function look(file: FileHandle): Promise<{ size: number; changedAt: bigint; version: string } | null> {
  const status = await file.stat({ bigint: true });
  if (!status.isFile()) return null;
  const { ino, size, mtimeNs, ctimeNs } = status;
  const isFresh = Date.now() - Number(ctimeNs / 1_000_000n) < clockStepMs;
  return {
    size: Number(size),
    changedAt: ctimeNs,
    version: isFresh ? '' : `${ino}-${size}-${mtimeNs}-${ctimeNs}`,
  };
}

/** File systems stamp with a coarse clock: within a step a second change looks like none. */
const clockStepMs = 50;

/** Null when there are not as many bytes as there should be. */
async function readExactly(file: FileHandle, size: number): Promise<Buffer | null> {
  const content = Buffer.allocUnsafe(size);
  for (let done = 0; done < size; ) {
    const { bytesRead } = await file.read(content, done, size - done, done);
    if (bytesRead === 0) return null;
    done += bytesRead;
  }
  return content;
}
