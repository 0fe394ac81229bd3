import { expect, test } from 'vitest';
import { answerClaude } from './claude-permission.ts';

test.each([
  ['plan', 'Read', 'allow'],
  ['plan', 'WebFetch', 'allow'],
  ['plan', 'Bash', 'deny'],
  ['plan', 'Write', 'deny'],
  ['plan', 'mcp__notes__add', 'deny'],
  ['plan', '', 'deny'],
  ['work', 'Read', 'allow'],
  ['work', 'Bash', 'allow'],
])('in a turn of %s a question about %s is answered with %s', (mode, tool_name, behavior) => {
  const input = { file_path: '/x' };
  const { response, plan } = answerClaude({ tool_name, input }, { isPlanning: mode === 'plan' });
  expect(response).toMatchObject({ behavior, ...(behavior === 'allow' && { updatedInput: input }) });
  expect(response).not.toHaveProperty('interrupt');
  expect(plan).toBeNull();
});

test('a plan is for the user, and ends the turn', () => {
  const asked = { tool_name: 'ExitPlanMode', input: { plan: '# Plan', planFilePath: '/x' } };
  expect(answerClaude(asked, { isPlanning: true })).toMatchObject({
    response: { behavior: 'deny', interrupt: true },
    plan: '# Plan',
  });
  expect(answerClaude({ tool_name: 'ExitPlanMode', input: {} }, { isPlanning: true }).plan).toBe('');
});
