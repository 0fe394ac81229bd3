import { expect, test } from 'vitest';
import { readSources } from './sources.ts';

const everything = [
  ...readSources('src/**/*.ts'),
  ...readSources('test/**/*.ts'),
  ...readSources('bench/**/*.ts'),
];
const generated = 'src/db/schema.ts';

test('no file is longer than 400 lines', () => {
  const long = everything
    .filter(({ file }) => file !== generated)
    .map(({ file, text }) => ({ file, lines: text.split('\n').length - 1 }))
    .filter(({ lines }) => lines > 400);
  expect(long).toEqual([]);
});

test('no test is skipped, focused or left for later', () => {
  const wrong = everything
    .filter(({ file }) => file.endsWith('.test.ts') && !file.includes('rules/shape'))
    .filter(({ text }) => /\b(test|it|describe)\.(only|todo|skip)\(/.test(text))
    .map(({ file }) => file);
  expect(wrong).toEqual([]);
});

test('no source has a default export', () => {
  const wrong = everything.filter(
    ({ text, file }) => /^export default/m.test(text) && !file.includes('rules/shape'),
  );
  expect(wrong.map(({ file }) => file)).toEqual([]);
});
