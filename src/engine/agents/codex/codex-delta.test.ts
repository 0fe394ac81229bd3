import { expect, test } from 'vitest';
import { beginningOf, endOf } from './codex-delta.ts';

const command = {
  type: 'commandExecution',
  id: 'call-1',
  command: "/bin/bash -lc 'echo hi'",
  cwd: '/work',
  status: 'completed',
  aggregatedOutput: 'hi\n',
  exitCode: 0,
};
const mcp = { type: 'mcpToolCall', id: 'call-2', server: 'notes', tool: 'add', arguments: { text: 'x' } };

test.each([
  [command, { type: 'tool', id: 'call-1', name: 'shell', input: { command: 'echo hi', cwd: '/work' } }],
  [mcp, { type: 'tool', id: 'call-2', name: 'notes.add', input: { text: 'x' } }],
  [
    { type: 'fileChange', id: 'a', changes: [1] },
    { type: 'tool', id: 'a', name: 'edit', input: { changes: [1] } },
  ],
  [{ type: 'agentMessage', id: 'a', text: '' }, null],
  [{ type: 'userMessage', id: 'a' }, null],
])('%j begins as %j', (item, delta) => {
  expect(beginningOf(item)).toEqual(delta);
});

test.each([
  [command, { type: 'tool_result', id: 'call-1', output: 'hi\n', isError: false }],
  [{ ...command, exitCode: 1, status: 'failed' }, { isError: true }],
  [
    { ...command, exitCode: null, status: 'declined' },
    { output: expect.stringContaining('plan mode'), isError: true },
  ],
  [
    { ...mcp, status: 'completed', error: null, result: { content: [{ type: 'text', text: 'ok' }] } },
    { output: '[{"type":"text","text":"ok"}]', isError: false },
  ],
  [
    { ...mcp, status: 'failed', error: { message: 'No.' }, result: null },
    { output: 'No.', isError: true },
  ],
  [
    { type: 'plan', id: 'a', text: '# Plan' },
    { type: 'plan', text: '# Plan' },
  ],
])('%j ends as %j', (item, delta) => {
  expect(endOf(item)).toMatchObject(delta);
});

test('what is no tool ends without a word', () => {
  expect(endOf({ type: 'agentMessage', id: 'a', text: 'Hello.' })).toBeNull();
});
