import { expect, test } from 'vitest';
import { efforts, usualThinkingLevel } from './thinking-level.ts';

test.each([
  ['low', 'low', 'low', 'low'],
  ['medium', 'medium', 'medium', 'medium'],
  ['high', 'high', 'high', 'high'],
  ['max', 'max', 'xhigh', 'max'],
] as const)(
  'the level %s is %s for claude, %s for codex and %s for cursor',
  (level, claude, codex, cursor) => {
    const called = [efforts.claude[level], efforts.codex[level], efforts.cursor[level]];
    expect(called).toEqual([claude, codex, cursor]);
  },
);

test.each([
  ['claude', 'high'],
  ['codex', 'medium'],
  ['cursor', 'medium'],
  ['opencode', 'medium'],
] as const)('where no level is given, %s thinks at the level %s', (agent, level) => {
  expect(usualThinkingLevel(agent)).toBe(level);
});
