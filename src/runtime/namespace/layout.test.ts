import { expect, test } from 'vitest';
import { checkName, createLayout } from './layout.ts';

test.each(['a', '0198c0de-7b3f-7c39-9b1e-6a1f5d7c1a2b', 'layer_1', 'x'.repeat(128)])(
  '%s is a name',
  (name) => {
    expect(checkName(name)).toBe(name);
  },
);

test.each(['', '.', '..', '../x', 'a/b', '-rf', 'a b', 'a\n', 'a.new', 'ü', 'x'.repeat(129)])(
  '%j is not a name',
  (name) => {
    expect(() => checkName(name)).toThrow('name of a sandbox');
  },
);

test('two roots have groups of different names, and one root has one name however it is written', () => {
  const name = createLayout('/data/one').groupName;
  expect(name).toMatch(/^replica-[0-9a-f]{12}$/);
  expect(createLayout('/data/two').groupName).not.toBe(name);
  expect(createLayout('/data/./one/').groupName).toBe(name);
});
