import { expect, test } from 'vitest';
import type { Item } from './conversation.ts';
import { findTurn } from './find-turn.ts';

const user = (text: string): Item => ({ kind: 'user', text });
const note = (text: string): Item => ({ kind: 'note', text });
const result = (text = 'out'): Item => ({ kind: 'result', text });
const said: Item = { kind: 'assistant' };
const call: Item = { kind: 'call' };
const script = 'SCRIPT:[{"shell":"a"},{"text":"b"}]';

test.each<[string, Item[], string, string[]]>([
  ['the only message', [user('fix it')], 'fix it', []],
  ['the results of its tools', [user('fix it'), call, result('1'), call, result('2')], 'fix it', ['1', '2']],
  ['the message after an answer', [user('one'), call, result(), said, user('two')], 'two', []],
  ['the message after a text and a call', [user('one'), said, call, result('1')], 'one', ['1']],
  ['the message after one that was never answered', [user('one'), user('two')], 'two', []],
  ['a message with a script behind results', [user('one'), call, result(), user(script)], script, []],
  [
    'a message without one after a finished script',
    [user(script), call, result(), said, user('two')],
    'two',
    [],
  ],
  [
    "what stands before the agent's own texts",
    [
      user('<system-reminder>\nx\n</system-reminder>'),
      user('one'),
      user('<system-reminder>y</system-reminder>'),
    ],
    'one',
    [],
  ],
  [
    'the message besides its images',
    [user('one'), user('<image name=[Image #1]>'), user('</image>')],
    'one',
    [],
  ],
  ['the message besides the size of an image', [user('one'), user('[Image: original 10x10]')], 'one', []],
  ['a message that begins with a tag', [user('<div> is broken')], '<div> is broken', []],
  ['the message after instructions', [user('# AGENTS.md instructions\n\nBe nice.'), user('one')], 'one', []],
  [
    'the message when a text comes behind results',
    [user('one'), call, result('1'), user('Base directory: x')],
    'one',
    ['1'],
  ],
  [
    'the message after a turn that claude broke off',
    [user(script), user('[Request interrupted by user]'), user('two')],
    'two',
    [],
  ],
  [
    'the message after a tool that claude broke off',
    [user(script), call, result(), user('[Request interrupted by user for tool use]'), user('two')],
    'two',
    [],
  ],
  [
    'the message after a tool that codex broke off',
    [user(script), call, result(), user('<turn_aborted>\nx\n</turn_aborted>'), user('two')],
    'two',
    [],
  ],
  [
    'the message after a tool that codex broke off in code',
    [user(script), call, result('x'), note('<turn_aborted>\nx\n</turn_aborted>'), user('two')],
    'two',
    [],
  ],
  [
    'the message after a tool that opencode broke off',
    [
      user(script),
      call,
      result('<shell_metadata>\nUser aborted the command\n</shell_metadata>'),
      user('two'),
    ],
    'two',
    [],
  ],
  ['nothing where nothing was asked', [note('Be nice.')], '', []],
])('finds %s', (_name, items, message, results) => {
  expect(findTurn(items)).toMatchObject({ message, results });
});

test.each<[string, Item[], boolean]>([
  ['claude plans', [user('one'), note('Plan mode is active. The user')], true],
  [
    'claude plans no more',
    [note('Plan mode is active.'), user('one'), note('## Exited Plan Mode\n\nYou')],
    false,
  ],
  ['codex plans', [note('<collaboration_mode># Plan Mode (Conversational)'), user('one')], true],
  [
    'codex plans no more',
    [
      note('<collaboration_mode># Plan Mode'),
      note('<collaboration_mode># Collaboration Mode: Default'),
      user('one'),
    ],
    false,
  ],
  [
    'opencode plans',
    [user('one'), user('<system-reminder>\n# Plan Mode - System Reminder\n</system-reminder>')],
    true,
  ],
  ['a user speaks of plans', [user('Plan mode is broken')], false],
])('knows when %s', (_name, items, isPlanned) => {
  expect(findTurn(items).isPlanned).toBe(isPlanned);
});
