import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addKey, KeyRingError, loadKeyRing, parseKeyRing } from './key-ring.ts';

const keyA = Buffer.alloc(32, 0xfb);
const keyB = Buffer.alloc(32, 0x02);

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'key-ring-'));
  file = join(folder, 'secret.key');
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function errorOf(run: () => unknown): KeyRingError {
  try {
    run();
  } catch (error) {
    if (error instanceof KeyRingError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('parseKeyRing', () => {
  test.each([
    ['base64', keyA.toString('base64')],
    ['base64 without padding', keyA.toString('base64').replace('=', '')],
    ['base64url', keyA.toString('base64url')],
    ['hex', keyA.toString('hex')],
    ['upper-case hex', keyA.toString('hex').toUpperCase()],
    ['base64 with spaces around', ` ${keyA.toString('base64')}\n`],
  ])('reads a key in %s', (_, text) => {
    expect(parseKeyRing(text).current.secret.export()).toEqual(keyA);
  });

  test('the first key is the current one and all are kept in order', () => {
    const ring = parseKeyRing(`${keyA.toString('hex')}, ${keyB.toString('base64')}`);
    expect([...ring.keys.values()].map((key) => key.secret.export())).toEqual([keyA, keyB]);
    expect(ring.keys.get(ring.current.id)).toBe(ring.current);
  });

  test('every notation of a key gives the same id, and the id stays what it was', () => {
    expect(parseKeyRing(keyB.toString('hex')).current.id).toBe('32599fa96979d932');
    expect(parseKeyRing(keyB.toString('base64url')).current.id).toBe('32599fa96979d932');
  });

  test.each([
    ['', 'REPLICA_SECRET_KEY is empty'],
    [' ', 'REPLICA_SECRET_KEY is empty'],
    ['SECRET', 'the key is not 32 bytes in base64, base64url or hex'],
    [keyA.toString('hex').slice(1), 'the key is not 32 bytes'],
    [Buffer.alloc(31).toString('base64'), 'the key is not 32 bytes'],
    [Buffer.alloc(33).toString('base64'), 'the key is not 32 bytes'],
    [`${keyA.toString('base64url').slice(0, -1)}9`, 'the key is not 32 bytes'],
    [`${keyA.toString('hex')},`, 'key 2 of 2 is empty'],
    [`${keyA.toString('hex')},,${keyB.toString('hex')}`, 'key 2 of 3 is empty'],
    [`${keyA.toString('hex')},${keyA.toString('base64')}`, 'keys 1 and 2 are the same'],
  ])('refuses %j: %s', (text, sentence) => {
    const { message } = errorOf(() => parseKeyRing(text));
    expect(message).toContain(sentence);
    expect(message).not.toContain('\n');
  });

  test('no error and no printed ring contains the key', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8, unit: fc.constantFrom(...'QXZ0189+/=') }), (text) => {
        expect(
          inspect(
            errorOf(() => parseKeyRing(text)),
            { depth: null },
          ),
        ).not.toContain(text);
      }),
    );
    const ring = parseKeyRing(keyA.toString('hex'));
    const printed =
      inspect(ring, { depth: null, showHidden: true }) + JSON.stringify([...ring.keys.values()]);
    expect(printed).not.toContain(keyA.toString('hex').slice(0, 8));
    expect(printed).not.toContain('fb fb');
    expect(printed).not.toContain('251');
  });
});

describe('loadKeyRing', () => {
  test('takes the environment and leaves the file alone', () => {
    const ring = loadKeyRing({ fromEnvironment: keyA.toString('hex'), file });
    expect(ring.current.secret.export()).toEqual(keyA);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('an empty variable stops the start and makes no key', () => {
    expect(errorOf(() => loadKeyRing({ fromEnvironment: '', file })).message).toContain('is empty');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('makes the file for its owner only, and reads the same key the next time', () => {
    const deep = join(folder, 'not', 'there', 'secret.key');
    const made = loadKeyRing({ file: deep });
    expect(statSync(deep).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, 'not', 'there'))).toEqual(['secret.key']);
    expect(loadKeyRing({ file: deep }).current.id).toBe(made.current.id);
    expect(made.keys.size).toBe(1);
  });

  test.each([0o640, 0o604, 0o620, 0o644])('refuses a file of mode %o and says what to do', (mode) => {
    loadKeyRing({ file });
    chmodSync(file, mode);
    const { message } = errorOf(() => loadKeyRing({ file }));
    expect(message).toContain(`run chmod 600 ${file}`);
    expect(message).toContain(mode.toString(8));
  });

  test.each([
    ['an empty file', '', 'is empty'],
    ['garbage', 'not a key\n', 'the key is not 32 bytes'],
  ])('refuses %s and does not replace it', (_, content, sentence) => {
    writeFileSync(file, content, { mode: 0o600 });
    const { message } = errorOf(() => loadKeyRing({ file }));
    expect(message).toContain(file);
    expect(message).toContain(sentence);
    expect(readFileSync(file, 'utf8')).toBe(content);
  });

  test('refuses a folder in place of the file', () => {
    mkdirSync(file, { mode: 0o700 });
    expect(errorOf(() => loadKeyRing({ file })).message).toContain('is not a plain file');
  });

  test('says in one line that the folder cannot be made', () => {
    writeFileSync(join(folder, 'plain'), '');
    const { message } = errorOf(() => loadKeyRing({ file: join(folder, 'plain', 'secret.key') }));
    expect(message).toMatch(/plain.* \(E[A-Z]+\)$/);
  });

  test('several processes that start at once end with the same key', async () => {
    const program = `
      const { loadKeyRing } = await import(${JSON.stringify(pathToFileURL(join(import.meta.dirname, 'key-ring.ts')).href)});
      process.once('message', (file) => process.send(loadKeyRing({ file }).current.id, () => process.disconnect()));
      process.send('ready');`;
    const children = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', program], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      }),
    );
    try {
      await Promise.all(children.map((child) => once(child, 'message')));
      const answers = children.map(async (child) => String((await once(child, 'message'))[0]));
      for (const child of children) child.send(file);
      const ids = await Promise.all(answers);
      expect(new Set(ids)).toEqual(new Set([loadKeyRing({ file }).current.id]));
      await Promise.all(children.map((child) => (child.exitCode === null ? once(child, 'exit') : null)));
      expect(readdirSync(folder)).toEqual(['secret.key']);
    } finally {
      for (const child of children) child.kill('SIGKILL');
    }
  });
});

describe('addKey', () => {
  test('puts a new key in front and keeps the old ones for reading', () => {
    const before = loadKeyRing({ file });
    const after = addKey(file);
    const again = addKey(file);
    expect(after.current.id).not.toBe(before.current.id);
    expect([...again.keys.keys()]).toEqual([again.current.id, after.current.id, before.current.id]);
    expect([...loadKeyRing({ file }).keys.keys()]).toEqual([...again.keys.keys()]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['secret.key']);
  });

  test('follows a link to the file and leaves the link in place', () => {
    loadKeyRing({ file });
    const link = join(folder, 'link');
    symlinkSync(file, link);
    const ring = addKey(link);
    expect(loadKeyRing({ file }).current.id).toBe(ring.current.id);
    expect(readdirSync(folder).sort()).toEqual(['link', 'secret.key']);
  });

  test('refuses while another command holds the lock, and keeps the ring', () => {
    const before = loadKeyRing({ file });
    writeFileSync(`${file}.lock`, '');
    expect(errorOf(() => addKey(file)).message).toContain('another command is adding a key');
    expect(loadKeyRing({ file }).current.id).toBe(before.current.id);
  });

  test.each([
    ['a file that is not there', () => {}, 'does not exist'],
    ['a file open to others', () => writeFileSync(file, keyA.toString('hex'), { mode: 0o644 }), 'chmod 600'],
    ['a damaged file', () => writeFileSync(file, 'garbage', { mode: 0o600 }), 'is not 32 bytes'],
  ])('refuses %s and leaves no lock', (_, prepare, sentence) => {
    prepare();
    expect(errorOf(() => addKey(file)).message).toContain(sentence);
    expect(readdirSync(folder)).not.toContain('secret.key.lock');
  });
});
