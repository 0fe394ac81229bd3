import { posix } from 'node:path';
import { quote } from './quote.ts';
import type { Step } from './step.ts';

/** A tool takes an object, or plain text where it is a custom one. */
export type ToolCall =
  | { name: string; namespace: string | null; args: Record<string, unknown> }
  | { name: string; input: string };

/** Codex lets a command run on in the background after this time; it is the longest that it takes. */
const WAIT_MS = 30_000;
/** The tool of codex that runs code, which in turn calls the other tools. */
const CODE_TOOL = 'exec';

/** The shells that agents offer, each with its own arguments. The first one that is offered is used. */
const shells: [name: string, argsOf: (command: string) => Record<string, unknown>][] = [
  ['Bash', (command) => ({ command, description: 'Run a step of the offline model' })],
  ['bash', (command) => ({ command, description: 'Run a step of the offline model' })],
  ['exec_command', (cmd) => ({ cmd, yield_time_ms: WAIT_MS })],
  ['shell_command', (command) => ({ command })],
  ['shell', (command) => ({ command: ['bash', '-lc', command] })],
];

const writers: [name: string, argsOf: (path: string, content: string) => Record<string, unknown>][] = [
  ['Write', (path, content) => ({ file_path: path, content })],
  ['write', (path, content) => ({ filePath: path, content })],
];

/** The call by which a step is done with the tools that are offered; null when none of them can do it. */
export function toolCallFor(
  { shell, write, tool, args = {}, namespace, custom, input = '' }: Step,
  tools: ReadonlySet<string>,
): ToolCall | null {
  if (write !== undefined) return callWriter(write, tools);
  if (shell !== undefined) return callShell(shell, tools);
  if (tool === undefined) return null;
  const isInCode = tools.has(CODE_TOOL) && !tools.has(tool);
  if (isInCode) return callInCode(namespace ? `${namespace}__${tool}` : tool, custom ? input : args);
  return custom ? { name: tool, input } : { name: tool, namespace: namespace ?? null, args };
}

function callShell(command: string, tools: ReadonlySet<string>): ToolCall | null {
  const [name, argsOf] = shells.find(([name]) => tools.has(name)) ?? [];
  if (name !== undefined && argsOf !== undefined) return { name, namespace: null, args: argsOf(command) };
  if (!tools.has(CODE_TOOL)) return null;
  return callInCode('exec_command', { cmd: command, yield_time_ms: WAIT_MS });
}

function callWriter([path, content]: [string, string], tools: ReadonlySet<string>): ToolCall | null {
  const [name, argsOf] = writers.find(([name]) => tools.has(name)) ?? [];
  if (name !== undefined && argsOf !== undefined)
    return { name, namespace: null, args: argsOf(path, content) };
  const folder = quote(posix.dirname(path));
  return callShell(`mkdir -p -- ${folder} && printf %s ${quote(content)} > ${quote(path)}`, tools);
}

/** In code every tool is a function under its name, made an identifier. */
function callInCode(tool: string, given: unknown): ToolCall {
  const wait = `// @exec: ${JSON.stringify({ yield_time_ms: 2 * WAIT_MS })}`;
  const call = `await tools[${JSON.stringify(tool.replace(/\W/g, '_'))}](${JSON.stringify(given)})`;
  return { name: CODE_TOOL, input: `${wait}\nconst result = ${call};\ntext(JSON.stringify(result));\n` };
}
