import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isSameSecret, isSignedWith } from './signature.ts';

const bytes = Buffer.from('{"zen":"Keep it logically awesome."}');
const hex = createHmac('sha256', 'open sesame').update(bytes).digest('hex');
const signature = `sha256=${hex}`;

describe('a signature of GitHub', () => {
  test('fits the bytes and the secret it was made from', () => {
    expect(isSignedWith('open sesame', { bytes, signature })).toBe(true);
  });

  test('fits no other secret', () => {
    for (const secret of ['open sesam', 'Open sesame', ''])
      expect(isSignedWith(secret, { bytes, signature })).toBe(false);
  });

  test('fits no other bytes', () => {
    for (let index = 0; index < bytes.length; index++) {
      const tampered = Buffer.from(bytes);
      tampered[index] = (bytes[index] ?? 0) ^ 1;
      expect(isSignedWith('open sesame', { bytes: tampered, signature })).toBe(false);
    }
  });

  test.each([
    '',
    'sha256=',
    hex,
    `sha1=${hex}`,
    `sha256=${hex.slice(1)}`,
    `sha256=${hex}0`,
    `sha256=${hex}\n`,
  ])('is not %j', (given) => {
    expect(isSignedWith('open sesame', { bytes, signature: given })).toBe(false);
  });
});

test.each([
  ['a', 'a', true],
  ['a', 'b', false],
  ['a', 'aa', false],
  ['', '', true],
])('the secrets %j and %j are the same: %s', (one, other, isSame) => {
  expect(isSameSecret(one, other)).toBe(isSame);
});
