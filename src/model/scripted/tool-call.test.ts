import { expect, test } from 'vitest';
import type { Step } from './step.ts';
import { toolCallFor } from './tool-call.ts';

test.each<[string, string[], Step, unknown]>([
  ['claude', ['Read', 'Bash'], { shell: 'ls' }, { name: 'Bash', args: { command: 'ls' } }],
  ['opencode', ['read', 'bash'], { shell: 'ls' }, { name: 'bash', args: { command: 'ls' } }],
  ['codex', ['exec_command', 'write_stdin'], { shell: 'ls' }, { name: 'exec_command', args: { cmd: 'ls' } }],
  [
    'codex with another shell',
    ['shell_command'],
    { shell: 'ls' },
    { name: 'shell_command', args: { command: 'ls' } },
  ],
  [
    'codex with the oldest shell',
    ['shell'],
    { shell: 'ls' },
    { name: 'shell', args: { command: ['bash', '-lc', 'ls'] } },
  ],
  [
    'codex in code',
    ['exec'],
    { shell: 'echo "a"' },
    { name: 'exec', input: expect.stringContaining('await tools["exec_command"]({"cmd":"echo \\"a\\""') },
  ],
  [
    'a server in code',
    ['exec'],
    { tool: 'open', namespace: 'mcp__my-server', args: { a: 1 } },
    { name: 'exec', input: expect.stringContaining('await tools["mcp__my_server__open"]({"a":1})') },
  ],
  [
    'code that takes text',
    ['exec'],
    { tool: 'apply_patch', custom: true, input: '*** Begin' },
    { name: 'exec', input: expect.stringContaining('await tools["apply_patch"]("*** Begin")') },
  ],
  [
    'code itself',
    ['exec'],
    { tool: 'exec', custom: true, input: 'text(1)' },
    { name: 'exec', input: 'text(1)' },
  ],
  [
    'claude that writes',
    ['Bash', 'Write'],
    { write: ['a', 'b'] },
    { name: 'Write', args: { file_path: 'a', content: 'b' } },
  ],
  [
    'opencode that writes',
    ['bash', 'write'],
    { write: ['a', 'b'] },
    { name: 'write', args: { filePath: 'a', content: 'b' } },
  ],
  [
    'an agent that writes by its shell',
    ['exec_command'],
    { write: ["it's/a", '$(b)\n'] },
    { name: 'exec_command', args: { cmd: `mkdir -p -- 'it'\\''s' && printf %s '$(b)\n' > 'it'\\''s/a'` } },
  ],
  [
    'any tool',
    [],
    { tool: 'x', args: { y: 1 }, namespace: 'z' },
    { name: 'x', namespace: 'z', args: { y: 1 } },
  ],
  ['a tool without arguments', [], { tool: 'x' }, { name: 'x', namespace: null, args: {} }],
  ['a tool that takes text', [], { tool: 'x', custom: true, input: 'y' }, { name: 'x', input: 'y' }],
])('calls the tool of %s', (_name, tools, step, expected) => {
  const call = toolCallFor(step, new Set(tools));
  if (call !== null && 'args' in call) delete call.args.description;
  expect(call).toMatchObject(expected as object);
});

test.each<[string, Step]>([
  ['a shell', { shell: 'ls' }],
  ['something to write with', { write: ['a', 'b'] }],
  ['a tool at all', { text: 'a' }],
])('calls nothing where %s is not there or not needed', (_name, step) => {
  expect(toolCallFor(step, new Set(['Read']))).toBeNull();
});
