import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createFindTest, pageFile, renderPage } from './coverage.ts';
import { sections } from './sections.ts';

const rules = sections.flatMap((section) => section.rules);
const findTest = createFindTest();

describe('the coverage of the specification', () => {
  test.each(sections)('has the $rows rules of: $title', ({ rows, rules }) => {
    expect(rules).toHaveLength(rows);
  });

  test('has each rule once', () => {
    const ids = rules.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  });

  test('leaves no rule without a test', () => {
    expect(rules.filter(({ proof }) => proof.length === 0).map(({ id }) => id)).toEqual([]);
  });

  test('rests on tests that are there and run', () => {
    const wrong = rules.flatMap(({ id, proof }) =>
      proof
        .filter((each) => !each.file.endsWith('.test.ts') || (findTest(each)?.isSkipped ?? true))
        .map(({ file, test: title }) => `${id}: ${file}: ${title}`),
    );
    expect(wrong).toEqual([]);
  });

  test('is on the page for people', () => {
    const advice = 'run node script/write-spec-coverage.ts';
    expect(readFileSync(pageFile, 'utf8'), advice).toBe(renderPage(findTest));
  });
});
