import type {
  CursorAgentOptions,
  CursorRun,
  CursorRunResult,
} from '../../../src/engine/agents/cursor/cursor-sdk.ts';
import { runError } from './errors.ts';
import type { McpTools } from './mcp.ts';
import { askModel, ModelError, type ToolCall } from './model.ts';
import type { Conversation, SqliteLocalAgentStore } from './sqlite.ts';
import { readSurroundings } from './surroundings.ts';
import { offeredTools, runTool, type SdkResult, toSdkCall } from './tools.ts';

/** Works on the last message of a conversation until the model calls no more tools, and says what the SDK says. */
export function startRun(
  conversation: Conversation,
  {
    options,
    mcp,
    request,
  }: { options: CursorAgentOptions<SqliteLocalAgentStore>; mcp: McpTools; request: object },
): CursorRun {
  const { local, disallowedTools } = options;
  const { agentId, messages } = conversation;
  const run_id = conversation.activeRunId;
  const cancellation = new AbortController();
  const { signal } = cancellation;
  const said: object[] = [];
  let isOver = false;
  let wake = Promise.withResolvers<void>();
  const ended = work();

  function say(message: object): void {
    said.push({ agent_id: agentId, run_id, ...message });
    wake.resolve();
  }

  async function work(): Promise<CursorRunResult> {
    const end = await converse().then(
      (): CursorRunResult => ({ status: 'finished' }),
      (error: unknown): CursorRunResult => {
        if (signal.aborted) return { status: 'cancelled' };
        return { status: 'error', error: describe(error) };
      },
    );
    conversation.activeRunId = null;
    local.store.save(conversation);
    say({ type: 'status', status: end.status.toUpperCase(), message: end.error?.message });
    isOver = true;
    wake.resolve();
    return end;
  }

  async function converse(): Promise<void> {
    say({ type: 'status', status: 'RUNNING' });
    for (;;) {
      const calls = await ask();
      local.store.save(conversation);
      if (calls.length === 0) return;
      for (const call of calls) {
        const result = await use(call);
        messages.push({ role: 'tool', tool_call_id: call.id, content: JSON.stringify(result) });
        local.store.save(conversation);
      }
    }
  }

  async function ask(): Promise<ToolCall[]> {
    let whole = '';
    const system = { role: 'system', content: readSurroundings(local) };
    const body = { ...request, messages: [system, ...messages], tools: offeredTools(mcp) };
    const heard = ({ text, thought }: { text?: string; thought?: string }) => {
      whole += text ?? '';
      if (thought) say({ type: 'thinking', text: thought });
      if (thought) say({ type: 'thinking', text: '', thinking_duration_ms: 1 });
      if (text) say({ type: 'assistant', message: { role: 'assistant', content: [{ type: 'text', text }] } });
    };
    const calls = await askModel(body, { heard, signal });
    const tool_calls = calls.map(({ id, name, args }) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: JSON.stringify(args) },
    }));
    messages.push({ role: 'assistant', content: whole, ...(calls.length > 0 && { tool_calls }) });
    return calls;
  }

  async function use(called: ToolCall): Promise<SdkResult> {
    const call = toSdkCall(called);
    const about = { type: 'tool_call', call_id: called.id, name: call.name };
    // What a tool is to do comes piece by piece.
    say({ ...about, status: 'running', args: {} });
    say({ ...about, status: 'running', args: call.args });
    const isRefused = disallowedTools.includes(call.name);
    const result: SdkResult = isRefused
      ? { status: 'error', error: `The tool ${call.name} is not available.` }
      : await runTool(call, { cwd: local.cwd, mcp, signal });
    say({ ...about, status: isRefused ? 'error' : 'completed', args: call.args, result });
    return result;
  }

  return {
    async *stream() {
      for (let at = 0; ; ) {
        while (at < said.length) yield said[at++] ?? {};
        if (isOver) return;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    },
    wait: () => ended,
    cancel: async () => cancellation.abort(),
  };
}

function describe(error: unknown): { message: string; code?: string } {
  if (error instanceof ModelError) return runError(error.status, error.message);
  // As the real one does when it cannot get through: without a code.
  return { message: `[unknown] ${error instanceof Error ? error.message : String(error)}` };
}
