import { describe, expect, test } from 'vitest';
import { secretIn } from './admit.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

describe('secretIn', () => {
  test.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    [basic('replica:abc'), 'abc'],
    [basic(':abc'), 'abc'],
    [basic('a:b:c'), 'b:c'],
    [basic('replica:'), null],
    [basic('no colon'), null],
    [basic('replica:line\nbreak'), null],
    ['Basic !!!', null],
    ['Bearer ', null],
    ['Bearer a b', null],
    [`Bearer ${'a'.repeat(2_000)}`, null],
    ['Digest abc', null],
    ['', null],
    [undefined, null],
  ])('%j holds %j', (header, secret) => {
    expect(secretIn(header)).toBe(secret);
  });
});
