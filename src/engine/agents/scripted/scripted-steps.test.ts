import { expect, test } from 'vitest';
import { readSteps } from './scripted-steps.ts';

test.each([
  ['no script', 'Please fix the tests.', null],
  ['an empty one', 'SCRIPT:[]', []],
  [
    'text around it',
    'do SCRIPT: [{"say":"a]b"},{"run":"echo \\"]\\""}] thanks ]',
    [{ say: 'a]b' }, { run: 'echo "]"' }],
  ],
  [
    'lists inside',
    'SCRIPT:[{"write":{"path":"a","content":"[[]"}}]x',
    [{ write: { path: 'a', content: '[[]' } }],
  ],
  [
    'every kind',
    'SCRIPT:[{"sleepMs":5},{"canvas":{"name":"a","content":"b"}},{"fail":"no"}]',
    [{ sleepMs: 5 }, { canvas: { name: 'a', content: 'b' } }, { fail: 'no' }],
  ],
])('reads %s', (_name, message, expected) => {
  expect(readSteps(message)).toEqual(expected);
});

test.each([
  ['broken JSON', 'SCRIPT:[{"say":]', /not a list in JSON/],
  ['an open list', 'SCRIPT:[{"say":"x"}', /not a list in JSON/],
  ['an unknown step', 'SCRIPT:[{"say":"a"},{"dance":1}]', /Step 2/],
  ['two kinds in one', 'SCRIPT:[{"say":"a","run":"b"}]', /Step 1/],
  ['a wrong value', 'SCRIPT:[{"sleepMs":-1}]', /Step 1/],
  ['something inherited', 'SCRIPT:[{"constructor":1}]', /Step 1/],
  ['no object', 'SCRIPT:["say"]', /Step 1/],
])('refuses %s with a sentence', (_name, message, sentence) => {
  expect(() => readSteps(message)).toThrow(sentence);
});
