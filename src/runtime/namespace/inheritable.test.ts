import { expect, test } from 'vitest';
import { isInheritable } from './inheritable.ts';

test.each([
  ['a pipe that was left open', 'pos:\t0\nflags:\t01\nmnt_id:\t15\n', true],
  ['a file of Node', 'pos:\t0\nflags:\t02100002\nmnt_id:\t29\n', false],
  ['a socket of Node', 'pos:\t0\nflags:\t02004002\nmnt_id:\t10\n', false],
  ['one that is closed by now', '', false],
])('%s', (_name, info, inheritable) => {
  expect(isInheritable(info)).toBe(inheritable);
});
