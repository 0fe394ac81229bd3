// The master keys that seal secrets at rest. The first key of a ring seals; every key of it opens.
// A ring comes from the environment, or from a file that is made on the first start. Nothing here ever
// overwrites a key that may already have sealed something: the file is made by link (which fails when it
// exists) and is extended under a lock that is itself the new content, renamed over the old one.

import { createHash, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

export interface MasterKey {
  /** 16 hex digits that name the key in sealed values, logs and errors. */
  readonly id: string;
  /** A KeyObject, because it never prints its bytes. */
  readonly secret: KeyObject;
}

export interface KeyRing {
  /** The key that seals. */
  readonly current: MasterKey;
  /** All keys by id, the current one first. */
  readonly keys: ReadonlyMap<string, MasterKey>;
}

/** One line for the operator; it never contains a key. */
export class KeyRingError extends Error {
  override readonly name = 'KeyRingError';
}

const KEY_BYTES = 32;
const KEY_ID_BYTES = 8;
const ENVIRONMENT_NAME = 'REPLICA_SECRET_KEY';
const HOW_TO_MAKE = 'make one with: openssl rand -base64 32';

/** Reads a comma list of keys; `source` is what an error names. */
export function parseKeyRing(text: string, source: string = ENVIRONMENT_NAME): KeyRing {
  if (text.trim() === '') throw new KeyRingError(`${source} is empty: ${HOW_TO_MAKE}`);
  const parts = text.split(',').map((part) => part.trim());
  const positionOf = new Map<string, number>();
  const keys = parts.map((part, index) => {
    const bytes = decodeKey(part);
    if (bytes === null) {
      const which = parts.length === 1 ? 'the key' : `key ${index + 1} of ${parts.length}`;
      const fault = part === '' ? 'is empty' : `is not ${KEY_BYTES} bytes in base64, base64url or hex`;
      throw new KeyRingError(`${source}: ${which} ${fault}: ${HOW_TO_MAKE}`);
    }
    const key = toMasterKey(bytes);
    const twin = positionOf.get(key.id);
    // A list such as "new,new" is a slip for "new,old" that would leave old values closed.
    if (twin !== undefined) throw new KeyRingError(`${source}: keys ${twin} and ${index + 1} are the same`);
    positionOf.set(key.id, index + 1);
    return key;
  });
  return toRing(keys);
}

/** Takes the ring from the environment, or reads it from the file, or makes the file with a new key. */
export function loadKeyRing(options: { fromEnvironment?: string | undefined; file: string }): KeyRing {
  if (options.fromEnvironment !== undefined) return parseKeyRing(options.fromEnvironment);
  const existing = readKeyFile(options.file);
  if (existing !== null) return existing;
  makeKeyFile(options.file);
  // The file is read back even by the process that made it, so that all racing processes agree on one key.
  const made = readKeyFile(options.file);
  if (made === null) throw new KeyRingError(`${options.file} vanished while it was being made`);
  return made;
}

/** Puts a new current key in front of the ring in the file; the others stay for reading. */
export function addKey(file: string): KeyRing {
  // A link is followed first, so that the rename replaces what it points to and not the link.
  const target = resolveLink(file);
  const lock = `${target}.lock`;
  // The ring is read only under the lock: two commands at once would otherwise drop each other's key.
  writeNewFile(lock, () => {
    const ring = readKeyFile(target);
    if (ring === null) {
      throw new KeyRingError(`${target} does not exist: start the service once, or set ${ENVIRONMENT_NAME}`);
    }
    const fresh = toMasterKey(randomBytes(KEY_BYTES));
    return formatRing(toRing([fresh, ...ring.keys.values()]));
  });
  attempt(`${target} could not be replaced`, () => renameSync(lock, target));
  syncFolder(dirname(target));
  const extended = readKeyFile(target);
  if (extended === null) throw new KeyRingError(`${target} vanished while it was being replaced`);
  return extended;
}

function decodeKey(text: string): Buffer | null {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (!/^(?:[A-Za-z0-9+/]{43}=?|[A-Za-z0-9_-]{43}=?)$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  // The last character carries two unused bits; when they are set, the text was mistyped or cut.
  const canonical = text.replace('=', '').replaceAll('+', '-').replaceAll('/', '_');
  return bytes.toString('base64url') === canonical ? bytes : null;
}

function toMasterKey(bytes: Buffer): MasterKey {
  const digest = createHash('sha256').update('replica-service master key id v1\0').update(bytes).digest();
  return { id: digest.toString('hex', 0, KEY_ID_BYTES), secret: createSecretKey(bytes) };
}

function toRing(keys: readonly MasterKey[]): KeyRing {
  const [current] = keys;
  if (current === undefined) throw new KeyRingError('a key ring needs at least one key');
  return { current, keys: new Map(keys.map((key) => [key.id, key])) };
}

function formatRing(ring: KeyRing): string {
  return `${[...ring.keys.values()].map((key) => key.secret.export().toString('base64')).join(',\n')}\n`;
}

function readKeyFile(file: string): KeyRing | null {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return null;
    throw new KeyRingError(`${file} cannot be opened (${codeOf(error)})`, { cause: error });
  }
  try {
    // The open file is asked, not the name, so that what is checked is what is read.
    const stat = fstatSync(descriptor);
    if (!stat.isFile()) throw new KeyRingError(`${file} is not a plain file`);
    if ((stat.mode & 0o077) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, '0');
      throw new KeyRingError(
        `${file} holds the secret key but is open to others (mode ${mode}): run chmod 600 ${file}`,
      );
    }
    return parseKeyRing(readFileSync(descriptor, 'utf8'), file);
  } finally {
    closeSync(descriptor);
  }
}

function makeKeyFile(file: string): void {
  const folder = dirname(file);
  attempt(`${folder} cannot be made`, () => mkdirSync(folder, { recursive: true, mode: 0o700 }));
  const temporary = `${file}.${process.pid}.${randomBytes(6).toString('hex')}.tmp`;
  writeNewFile(temporary, () => formatRing(toRing([toMasterKey(randomBytes(KEY_BYTES))])));
  try {
    linkSync(temporary, file);
  } catch (error) {
    // Another process was first; its key is the one everybody uses.
    if (!hasCode(error, 'EEXIST')) {
      throw new KeyRingError(
        `${file} cannot be made (${codeOf(error)}): set ${ENVIRONMENT_NAME}, ${HOW_TO_MAKE}`,
        { cause: error },
      );
    }
  } finally {
    rmSync(temporary, { force: true });
  }
  syncFolder(folder);
}

/** Makes a file that must not exist yet, durable and for its owner only, or leaves nothing behind. */
function writeNewFile(file: string, content: () => string): void {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'wx', 0o600);
  } catch (error) {
    const sentence = hasCode(error, 'EEXIST')
      ? `${file} exists: another command is adding a key; when none is running, remove that file`
      : `${file} cannot be made (${codeOf(error)})`;
    throw new KeyRingError(sentence, { cause: error });
  }
  try {
    try {
      writeFileSync(descriptor, content());
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    rmSync(file, { force: true });
    throw error instanceof KeyRingError
      ? error
      : new KeyRingError(`${file} cannot be written (${codeOf(error)})`, { cause: error });
  }
}

function resolveLink(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return file;
    throw new KeyRingError(`${file} cannot be opened (${codeOf(error)})`, { cause: error });
  }
}

function syncFolder(folder: string): void {
  attempt(`${folder} cannot be synced`, () => {
    const descriptor = openSync(folder, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  });
}

function attempt(sentence: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    throw new KeyRingError(`${sentence} (${codeOf(error)})`, { cause: error });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
