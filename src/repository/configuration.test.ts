import { describe, expect, test } from 'vitest';
import { ConfigurationError, configurationNames, parseConfiguration } from './configuration.ts';

const nothing = { systemPrompt: null, warmHook: null, startHook: null };

describe('parseConfiguration', () => {
  test('the names are tried in the order of the contract', () => {
    expect(configurationNames).toEqual([
      'replica.json',
      'replica.yaml',
      'replica.yml',
      'replicas.json',
      'replicas.yaml',
      'replicas.yml',
    ]);
  });

  test.each([
    ['replica.json', '', nothing],
    ['replica.json', '{}', nothing],
    ['replica.json', 'null', nothing],
    ['replica.yaml', '', nothing],
    ['replica.yaml', '# only a comment\n', nothing],
    ['replica.json', '\ufeff{"systemPrompt":"hi"}', { ...nothing, systemPrompt: 'hi' }],
    ['replica.json', '{"systemPrompt":"  "}', nothing],
    ['replica.json', '{"systemPrompt":null,"warmHook":null}', nothing],
    [
      'replicas.json',
      '{"warmHook":{"commands":["npm ci"]}}',
      { ...nothing, warmHook: { commands: ['npm ci'], timeout: 300_000, separate: true } },
    ],
    [
      'replica.yml',
      'systemPrompt: |\n  Be brief.\n  Always.\nstartHook:\n  commands:\n    - npm start\n    - "echo: done"\n  timeout: 900000\n  separate: false\n',
      {
        systemPrompt: 'Be brief.\nAlways.\n',
        warmHook: null,
        startHook: { commands: ['npm start', 'echo: done'], timeout: 900_000, separate: false },
      },
    ],
    ['replica.json', '{"warmHook":{"commands":[]}}', nothing],
    ['replica.yaml', 'unknown: &a [*a]\n', nothing],
    [
      'replica.json',
      '{"other":1,"warmHook":{"commands":["a"],"extra":true},"__proto__":{"systemPrompt":"x"}}',
      { ...nothing, warmHook: { commands: ['a'], timeout: 300_000, separate: true } },
    ],
    [
      'replica.yaml',
      'a: &x [one]\nwarmHook: { commands: *x }\n',
      { ...nothing, warmHook: { commands: ['one'], timeout: 300_000, separate: true } },
    ],
  ])('%s %j is read', (name, text, expected) => {
    expect(parseConfiguration(name, text)).toEqual(expected);
  });

  test.each([
    ['replica.json', '{', /^replica\.json is not valid JSON\.$/],
    ['replica.yaml', 'a: [1', /^replica\.yaml is not valid YAML \(line 1\)\.$/],
    ['replica.yaml', 'ok: 1\na: 1\na: 2\n', /^replica\.yaml is not valid YAML \(line 3\)\.$/],
    ['replica.yaml', 'a: 1\n---\nb: 2\n', /^replica\.yaml is not valid YAML/],
    ['replica.json', '[]', /^replica\.json: the file must be an object\.$/],
    ['replica.yaml', 'just text', /^replica\.yaml: the file must be an object\.$/],
    ['replica.json', '{"systemPrompt":1}', /systemPrompt must be a string/],
    ['replica.json', '{"systemPrompt":"a\\u0000"}', /systemPrompt must not contain a NUL/],
    ['replica.json', '{"warmHook":"npm ci"}', /warmHook must be an object with a list of commands/],
    ['replica.json', '{"warmHook":{}}', /warmHook\.commands must be a list of commands/],
    ['replica.json', '{"warmHook":{"commands":"npm ci"}}', /warmHook\.commands must be a list of commands/],
    ['replica.json', '{"warmHook":{"commands":["a",2]}}', /warmHook\.commands\.1 must be a string/],
    ['replica.json', '{"warmHook":{"commands":[" "]}}', /warmHook\.commands\.0 must not be empty/],
    [
      'replica.json',
      '{"startHook":{"commands":["a\\u0000b"]}}',
      /startHook\.commands\.0 must not contain a NUL/,
    ],
    [
      'replica.json',
      '{"startHook":{"commands":["a"],"timeout":900001}}',
      /startHook\.timeout must be at most 900000 milliseconds \(15 minutes\)/,
    ],
    ['replica.json', '{"startHook":{"commands":["a"],"timeout":0}}', /startHook\.timeout must be at least 1/],
    [
      'replica.json',
      '{"startHook":{"commands":["a"],"timeout":1.5}}',
      /startHook\.timeout must be a whole number/,
    ],
    [
      'replica.json',
      '{"startHook":{"commands":["a"],"timeout":"5m"}}',
      /startHook\.timeout must be a whole number/,
    ],
    [
      'replica.json',
      '{"startHook":{"commands":["a"],"separate":"no"}}',
      /startHook\.separate must be true or false/,
    ],
    ['replica.yaml', 'warmHook: *nowhere', /is not valid YAML/],
    ['replica.yaml', 'warmHook: { commands: &a [*a] }\n', /warmHook\.commands\.0 must be a string/],
  ])('%s %j is refused', (name, text, sentence) => {
    const parse = () => parseConfiguration(name, text);
    expect(parse).toThrow(ConfigurationError);
    expect(parse).toThrow(sentence);
  });

  test.each([
    [
      'too many commands',
      'replica.json',
      JSON.stringify({ warmHook: { commands: Array(101).fill('a') } }),
      /at most 100/,
    ],
    [
      'too many bytes',
      'replica.json',
      JSON.stringify({ systemPrompt: 'ä'.repeat(32_768) }),
      /larger than 65536 bytes/,
    ],
    ['aliases of aliases', 'replica.yaml', bomb(), /is not valid YAML/],
    ['lists without end', 'replica.yaml', '['.repeat(60_000), /is not valid YAML/],
    ['maps without end', 'replica.yaml', `a: ${'{a: '.repeat(1000)}`, /is not valid YAML/],
    ['too many parts', 'replica.yaml', `x: [${'1,'.repeat(3000)}]`, /is not valid YAML/],
  ])('a file with %s is refused', (_, name, text, sentence) => {
    expect(() => parseConfiguration(name, text)).toThrow(ConfigurationError);
    expect(() => parseConfiguration(name, text)).toThrow(sentence);
  });
});

/** Nine levels that each repeat the one before nine times. */
function bomb(): string {
  const levels = Array.from(
    { length: 9 },
    (_, index) => `l${index + 1}: &l${index + 1} [${Array(9).fill(`*l${index}`).join(', ')}]`,
  );
  return ['l0: &l0 [x]', ...levels, ''].join('\n');
}
