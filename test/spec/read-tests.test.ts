import { describe, expect, test } from 'vitest';
import { readTests } from './read-tests.ts';

const source = (...lines: string[]) =>
  ["import { describe, test, it as prove } from 'vitest';", ...lines].join('\n');
const titles = (...lines: string[]) => readTests(source(...lines)).map(({ title }) => title);

describe('the tests of a source', () => {
  test('have the titles of the groups around them', () => {
    const nested = "describe('a', () => { describe('b', () => { test('c', () => {}); }); prove('d', f); });";
    expect(titles(nested, "test('e', f);")).toEqual(['a > b > c', 'a > d', 'e']);
  });

  test('show what is computed in a title as an ellipsis, and what a table fills in as it is written', () => {
    expect(
      titles(
        "test.each([[1, 2]])('%i and %i', f);",
        `for (const n of [1]) test(\`number \${n} of all\`, f);`,
        "describe.each(kinds)('a %s', () => test.for(cases)('takes $name', f));",
        "describe(titled('x'), () => test('y', f));",
      ),
    ).toEqual(['%i and %i', 'number … of all', 'a %s > takes $name', '… > y']);
  });

  test('are none in comments, in texts, or where another test function is called', () => {
    expect(titles("// test('a', f);", 'const text = "test(\'b\', f)";', "other.test('c', f);")).toEqual([]);
    expect(readTests("const test = () => {};\ntest('d', f);")).toEqual([]);
  });

  test.each([
    ['skip', true, false],
    ['todo', true, false],
    ['fails', true, false],
    ['skipIf(!isRoot)', false, true],
    ['runIf(isLinux).each([1])', false, true],
    ['concurrent', false, false],
  ])(
    'are known as skipped or conditional by themselves and by their group: %s',
    (how, isSkipped, isConditional) => {
      for (const line of [`test.${how}('a', f);`, `describe.${how}('g', () => test.each([1])('a', f));`])
        expect(readTests(source(line))).toMatchObject([{ isSkipped, isConditional }]);
    },
  );
});
