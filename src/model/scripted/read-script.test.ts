import { expect, test } from 'vitest';
import { hasScript, readScript } from './read-script.ts';

test.each([
  ['an empty list', 'SCRIPT:[]', []],
  [
    'text around it',
    'do SCRIPT: [{"text":"a]b"},{"shell":"echo \\"]\\""}] thanks ]',
    [{ text: 'a]b' }, { shell: 'echo "]"' }],
  ],
  ['lists inside', 'SCRIPT:[{"write":["a","[[]"]}]x', [{ write: ['a', '[[]'] }]],
  [
    'a combination',
    'SCRIPT:[{"think":"hm","text":"a","tool":"T","args":{"x":[1]},"delay":1}]',
    [{ think: 'hm', text: 'a', tool: 'T', args: { x: [1] }, delay: 1 }],
  ],
  ['the last of several', 'SCRIPT:[{"text":"a"}] SCRIPT:[{"text":"b"}]', [{ text: 'b' }]],
  ['the last one after a broken one', 'SCRIPT:[{oh}] SCRIPT:[{"text":"b"}]', [{ text: 'b' }]],
  [
    'the outer one where one stands in another',
    'SCRIPT:[{"tool":"Task","args":{"prompt":"SCRIPT:[{\\"text\\":\\"in\\"}]"}}]',
    [{ tool: 'Task', args: { prompt: 'SCRIPT:[{"text":"in"}]' } }],
  ],
  [
    'usage, with zero for what is left out',
    'SCRIPT:[{"usage":{"inputTokens":1,"cacheReadTokens":2}}]',
    [
      {
        usage: {
          inputTokens: 1,
          outputTokens: 0,
          cacheReadTokens: 2,
          cacheWriteTokens: 0,
          reasoningTokens: 0,
        },
      },
    ],
  ],
])('reads %s', (_name, text, expected) => {
  expect(hasScript(text)).toBe(true);
  expect(readScript(text)).toEqual(expected);
});

test.each(['', 'Please fix the tests.', 'Steps are written as SCRIPT:[…].', 'SCRIPT: none', 'SCRIPT:["a"]'])(
  'finds no script in "%s"',
  (text) => {
    expect(hasScript(text)).toBe(false);
    expect(readScript(text)).toBeNull();
  },
);

const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;

test.each([
  ['broken JSON', 'SCRIPT:[{"text":]', /not a list in JSON/],
  ['an open list', 'SCRIPT:[{"text":"x"}', /not a list in JSON/],
  ['what is nested without end', `SCRIPT:[{"tool":"a","args":${deep}}]`, /not a list in JSON/],
  ['an unknown step', 'SCRIPT:[{"text":"a"},{"dance":1}]', /^Step 2 .*dance/],
  ['two tools in one step', 'SCRIPT:[{"shell":"a","tool":"b"}]', /^Step 1 .*only one of/],
  ['something inherited', 'SCRIPT:[{"constructor":1}]', /^Step 1/],
  ['a step that is no object', 'SCRIPT:[{},3]', /^Step 2/],
  ['too many words', 'SCRIPT:[{"slow":1001}]', /^Step 1 .*slow/],
  ['long words many times', `SCRIPT:[{"slow":1000,"text":"${'a'.repeat(1_001)}"}]`, /^Step 1 .*at most 1000/],
  ['too long a delay', 'SCRIPT:[{"delay":5001}]', /^Step 1 .*delay/],
  ['too long a silence', 'SCRIPT:[{"hang":600001}]', /^Step 1 .*hang/],
  ['an error that is none', 'SCRIPT:[{"error":{"status":200}}]', /^Step 1 .*error: status/],
  ['too much text', `SCRIPT:[{"text":"${'a'.repeat(200_000)}"}]`, /more than 200000 characters/],
  ['too many steps', `SCRIPT:[${'{},'.repeat(1_000)}{}]`, /more than 1000 steps/],
  ['a complaint without end', `SCRIPT:[{"${'x'.repeat(100_000)}":1}]`, /^.{1,400}$/],
])('refuses %s with a sentence', (_name, text, sentence) => {
  expect(() => readScript(text)).toThrow(sentence);
});

test.each(['SCRIPT:[{', 'SCRIPT:', 'SCRIPT:[', 'SCRIPT: [ ', 'SCRIPT:[] '])(
  'takes no more than linear time for "%s" again and again',
  (piece) => {
    const text = piece.repeat(2_000_000 / piece.length);
    const startedAt = performance.now();
    try {
      readScript(text);
    } catch {
      // Whether it is a script is of no interest here.
    }
    expect(performance.now() - startedAt).toBeLessThan(2_000);
  },
);
