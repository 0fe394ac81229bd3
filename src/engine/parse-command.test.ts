import { describe, expect, test } from 'vitest';
import { parseBootPlan, parseTerminal, parseTerminalSize, parseTurn } from './parse-command.ts';

const id = '01890000-0000-7000-8000-000000000001';
const body = (value: unknown) => Buffer.from(JSON.stringify(value));
const plan = {
  id,
  repositories: [{ id, name: 'app', url: 'https://git.example/app', branch: null, restore: false }],
  files: [{ path: '~/a', contentBase64: '' }],
  variables: { A: '1' },
  skills: [{ slug: 's', files: [] }],
  mcpServers: {},
  systemPrompt: null,
  hooks: [
    { runId: id, phase: 'start', repository: null, commands: ['true'], timeoutMs: 1_000, separate: true },
  ],
  failOn: 'nothing',
  gitIdentity: { name: 'n', email: 'e' },
};
const [hook] = plan.hooks;
const [repository] = plan.repositories;

test('a whole plan is taken as it is', () => {
  expect(parseBootPlan(body(plan))).toEqual(plan);
});

describe('a plan is refused with a sentence', () => {
  test.each<[string, unknown, RegExp]>([
    ['an array', [], /must be an object/],
    ['an id that is none', { ...plan, id: '../x' }, /id must be a UUID/],
    ['a repository named ..', { ...plan, repositories: [{ ...repository, name: '..' }] }, /repositories/],
    ['a repository with a path', { ...plan, repositories: [{ ...repository, name: 'a/b' }] }, /repositories/],
    ['files that are none', { ...plan, files: [1] }, /files/],
    ['a variable that is a number', { ...plan, variables: { A: 1 } }, /variables/],
    ['an endless hook', { ...plan, hooks: [{ ...hook, timeoutMs: 2 ** 31 }] }, /hooks/],
    ['a hook of another phase', { ...plan, hooks: [{ ...hook, phase: 'stop' }] }, /hooks/],
    ['no identity', { ...plan, gitIdentity: null }, /gitIdentity/],
    ['nothing', {}, /id must be/],
  ])('%s', (_, value, sentence) => {
    expect(() => parseBootPlan(body(value))).toThrow(sentence);
  });

  test('what is not JSON', () => {
    expect(() => parseBootPlan(Buffer.from('{'))).toThrow('The body is not JSON.');
  });
});

test('turns and terminals are checked as well', () => {
  expect(() => parseTurn(body({ id, chatId: 'x', agent: 'scripted', message: '' }))).toThrow(/UUIDs/);
  expect(parseTerminal(body({ id, cols: 80, rows: 24 }))).toEqual({ id, cols: 80, rows: 24 });
  expect(() => parseTerminal(body({ id, cols: 80, rows: 24, command: 1 }))).toThrow(/command/);
  for (const cols of [0, -1, 1.5, 1_001, '80', null]) {
    expect(() => parseTerminalSize(body({ cols, rows: 24 }))).toThrow(/cols and rows/);
  }
});
