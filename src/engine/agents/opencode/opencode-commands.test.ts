import { expect, test } from 'vitest';
import { readOpencodeCommands } from './opencode-commands.ts';

test.each([
  [{ name: 'init', description: 'Begin.', hints: ['$ARGUMENTS'] }, '<arguments>'],
  [{ name: 'init', description: 'Begin.', hints: ['$1', '$2'] }, '<1> <2>'],
  [{ name: 'init', description: 'Begin.', hints: [] }, null],
  [{ name: 'init', description: 'Begin.' }, null],
])('the command %j has the hint %s', (entry, argumentHint) => {
  expect(readOpencodeCommands([entry])).toEqual([{ command: 'init', description: 'Begin.', argumentHint }]);
});

test.each([null, {}, [7, { name: '' }, {}, { name: 'x'.repeat(201) }]])(
  'there is no command in %j',
  (answer) => {
    expect(readOpencodeCommands(answer)).toEqual([]);
  },
);

test('a long description is cut', () => {
  const [command] = readOpencodeCommands([{ name: 'init', description: 'x'.repeat(5_000) }]);
  expect(command?.description).toHaveLength(2_000);
});
