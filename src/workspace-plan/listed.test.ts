import { expect, test } from 'vitest';
import { listed } from './listed.ts';

test.each([
  [['a'], '"a"'],
  [['a', 'b'], '"a", "b"'],
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], '"a", "b", "c", "d", "e" and 2 more'],
  [['line\nbreak\0'], '"line break "'],
  [[`${'x'.repeat(99)}😀`], `"${'x'.repeat(99)}\uFFFD"`],
])('%j is listed as %s', (names, expected) => {
  expect(listed(names)).toBe(expected);
});
