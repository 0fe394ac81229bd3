import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { demoStep } from './demo.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'demo-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tools = new Set(['Bash']);
const turn = (message: string, results: string[] = []) => ({ message, results, isPlanned: false });

function perform(message: string): string {
  const { shell = 'exit 1' } = demoStep(turn(message), tools);
  return execFileSync('sh', ['-c', shell], { cwd: folder, encoding: 'utf8' });
}

test.each([
  ['words', 'Fix the bug\nand more', '- Fix the bug\n'],
  [
    'what a shell would run',
    `it's $(touch a) \`touch b\`; touch c "&& 'touch d'`,
    `- it's $(touch a) \`touch b\`; touch c "&& 'touch d'\n`,
  ],
  ['what a terminal would obey', '\u001b[31mred\u0000\u202egnorw\ttab', '- [31mred gnorw tab\n'],
  ['what looks like an option', '%s\\n -n', '- %s\\n -n\n'],
  ['too many words', 'a'.repeat(1_000), `- ${'a'.repeat(200)}\n`],
  ['half a character', `${'a'.repeat(199)}😀`, `- ${'a'.repeat(199)}\n`],
  ['nothing', ' \n ', '- a message without words\n'],
])('adds a line to NOTES.md when the message is %s', (_name, message, expected) => {
  perform(message);
  expect(readFileSync(join(folder, 'NOTES.md'), 'utf8')).toBe(expected);
  expect(readdirSync(folder)).toEqual(['NOTES.md']);
});

test('keeps what is in NOTES.md', () => {
  writeFileSync(join(folder, 'NOTES.md'), '# Notes\n');
  perform('one');
  expect(readFileSync(join(folder, 'NOTES.md'), 'utf8')).toBe('# Notes\n- one\n');
});

test('goes into the first repository where it stands above several', () => {
  for (const name of ['a', 'b b/.git', 'c/.git']) mkdirSync(join(folder, name), { recursive: true });
  perform('one');
  expect(readFileSync(join(folder, 'b b/NOTES.md'), 'utf8')).toBe('- one\n');
});

test('says what it did, what it is and how to get a real model', () => {
  const { text } = demoStep(turn('one', [`Exit code: 0\n${perform('one')}`]), tools);
  expect(text).toMatch(/^I added .*NOTES\.md.*offline model.*PUT \/v1\/organization\/coding-agents/);
});

test('says what the tool said when it could not do it', () => {
  const { text } = demoStep(turn('one', ['Permission\ndenied']), tools);
  expect(text).toMatch(/^I could not .*The tool said: Permission denied\n/);
});

test('does nothing where it shall only plan', () => {
  const planned = { ...turn('one'), isPlanned: true };
  expect(demoStep(planned, tools)).toEqual({ text: expect.stringMatching(/^I would add/) });
  expect(demoStep(planned, new Set(['Bash', 'ExitPlanMode']))).toEqual({
    tool: 'ExitPlanMode',
    args: { plan: expect.stringMatching(/^I would add/) },
  });
  expect(demoStep({ ...planned, results: ['no'] }, new Set(['ExitPlanMode']))).toEqual({
    text: expect.stringMatching(/^I would add/),
  });
});
