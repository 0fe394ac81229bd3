import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ApiKeyKind, hashApiKey, makeApiKey, parseApiKey, prefixOf } from './api-key-format.ts';

const kinds = fc.constantFrom<ApiKeyKind>('org', 'user');
const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe('makeApiKey', () => {
  test.each([
    ['org', 0x00, /^rs_org_0{43}[0-9A-Za-z]{6}$/, 56],
    ['user', 0x00, /^rs_user_0{43}[0-9A-Za-z]{6}$/, 57],
    ['org', 0xff, /^rs_org_[0-9A-Za-z]{49}$/, 56],
    ['user', 0xff, /^rs_user_[0-9A-Za-z]{49}$/, 57],
  ] as const)('a %s key of bytes %d has the fixed width', (kind, byte, pattern, length) => {
    const key = makeApiKey(kind, (size) => Buffer.alloc(size, byte));
    expect(key).toMatch(pattern);
    expect(key).toHaveLength(length);
  });

  test('the format stays readable: keys handed out earlier keep parsing', () => {
    const key = makeApiKey('org', () => Buffer.from(Array.from({ length: 32 }, (_, index) => index)));
    expect(key).toBe('rs_org_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf0DHpnB');
  });

  test('refuses a source that gives too few bytes', () => {
    expect(() => makeApiKey('org', () => Buffer.alloc(31))).toThrow(RangeError);
  });

  test('different bytes make different keys', () => {
    fc.assert(
      fc.property(kinds, secrets, secrets, (kind, left, right) => {
        const same = Buffer.compare(left, right) === 0;
        expect(makeApiKey(kind, () => left) === makeApiKey(kind, () => right)).toBe(same);
      }),
    );
  });
});

describe('parseApiKey', () => {
  const valid = makeApiKey('org', randomBytes);

  test('knows every key that was made', () => {
    fc.assert(
      fc.property(kinds, secrets, (kind, bytes) => {
        expect(parseApiKey(makeApiKey(kind, () => bytes))).toEqual({ kind });
      }),
    );
  });

  test.each([
    ['nothing', ''],
    ['a prefix alone', 'rs_org_'],
    ['a key with a line break', `${valid}\n`],
    ['a key with a space before', ` ${valid}`],
    ['a key cut short', valid.slice(0, -1)],
    ['a key with one character more', `${valid}0`],
    ['another kind with the same rest', valid.replace('rs_org_', 'rs_user_')],
    ['an unknown kind', valid.replace('rs_org_', 'rs_bot_')],
    ['upper case', valid.toUpperCase()],
    ['a megabyte', `rs_org_${'a'.repeat(1 << 20)}`],
    ['a JWT', 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl'],
  ])('refuses %s', (_, text) => {
    expect(parseApiKey(text)).toBeNull();
  });

  test('notices every change of one character', () => {
    const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-';
    fc.assert(
      fc.property(
        kinds,
        secrets,
        fc.nat(),
        fc.constantFrom(...alphabet),
        (kind, bytes, position, character) => {
          const key = makeApiKey(kind, () => bytes);
          const at = position % key.length;
          fc.pre(key[at] !== character);
          expect(parseApiKey(key.slice(0, at) + character + key.slice(at + 1))).toBeNull();
        },
      ),
    );
  });

  test('takes any text without throwing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(parseApiKey(text)).toBeNull();
      }),
    );
  });
});

test('the hash is the SHA-256 of the whole text', () => {
  const key = makeApiKey('user', randomBytes);
  expect(hashApiKey(key)).toEqual(createHash('sha256').update(key, 'utf8').digest());
});

test('the shown prefix names the kind and is twelve characters', () => {
  expect(prefixOf(makeApiKey('org', randomBytes))).toMatch(/^rs_org_[0-9A-Za-z]{5}$/);
  expect(prefixOf(makeApiKey('user', randomBytes))).toMatch(/^rs_user_[0-9A-Za-z]{4}$/);
});
