import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { McpTools } from './mcp.ts';
import type { ToolCall } from './model.ts';

/** A call in the words of the SDK, and what came of it. */
export type SdkCall = { name: string; args: Record<string, unknown> };
export type SdkResult = { status: 'success'; value: unknown } | { status: 'error'; error: unknown };

/** What the model is offered, by the names that the scripted model knows. */
export function offeredTools(mcp: McpTools): object[] {
  return ['bash', 'write', 'createPlan', ...mcp.keys()].map((name) => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: {} } },
  }));
}

export function toSdkCall({ name, args }: ToolCall): SdkCall {
  if (name === 'bash') return { name: 'shell', args: { command: args.command } };
  if (name === 'write') return { name: 'edit', args: { path: args.filePath, streamContent: args.content } };
  if (name === 'createPlan') return { name, args };
  return { name: 'mcp', args: { toolName: name, args } };
}

export async function runTool(
  { name, args }: SdkCall,
  { cwd, mcp, signal }: { cwd: string; mcp: McpTools; signal: AbortSignal },
): Promise<SdkResult> {
  if (name === 'shell') return runShell(String(args.command), { cwd, signal });
  if (name === 'edit') {
    writeFileSync(String(args.path), String(args.streamContent));
    return { status: 'success', value: { path: args.path } };
  }
  if (name === 'createPlan') return { status: 'success', value: {} };
  const tool = mcp.get(String(args.toolName));
  if (tool === undefined) return { status: 'error', error: `There is no tool ${args.toolName}.` };
  return { status: 'success', value: await tool(args.args as object) };
}

async function runShell(
  command: string,
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): Promise<SdkResult> {
  const child = spawn('bash', ['-c', command], { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const stop = () => process.kill(-(child.pid ?? 0), 'SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await once(child, 'exit')) as [number | null];
  signal.removeEventListener('abort', stop);
  signal.throwIfAborted();
  const [stdout, stderr] = await output;
  return {
    status: 'success',
    value: { exitCode: exitCode ?? -1, signal: '', stdout, stderr, executionTime: 0 },
  };
}
