import { expect, test } from 'vitest';
import { readShadowHeaders, type ShadowHead, writeShadowHeaders } from './shadow-head.ts';

const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string];

test.each<[string, ShadowHead]>([
  ['everything', { base: a, head: b, shadow: c, branch: 'main' }],
  ['an empty repository', { base: null, head: null, shadow: c, branch: 'main' }],
  ['a HEAD on no branch', { base: a, head: b, shadow: b, branch: null }],
  ['an odd branch', { base: a, head: b, shadow: c, branch: 'füür/50%-#1' }],
])('the headers of %s can be read again', (_name, head) => {
  const headers = writeShadowHeaders(head);
  expect(Object.values(headers).every((value) => /^[\x21-\x7e]*$/.test(value))).toBe(true);
  expect(readShadowHeaders(headers)).toEqual(head);
});

test.each([
  ['none', {}],
  ['a commit that is none', { 'x-base-commit': a, 'x-head-commit': b, 'x-shadow-commit': '--help' }],
  ['a wrong base', { 'x-base-commit': 'HEAD', 'x-head-commit': b, 'x-shadow-commit': a }],
])('headers with %s are not those of a shadow', (_name, headers) => {
  expect(readShadowHeaders(headers as Record<string, string>)).toBe(null);
});
