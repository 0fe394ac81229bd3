import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { z } from 'zod';
import { AppError, notFound } from '../contract/error.ts';
import { JsonBodyError, parseJsonBody } from '../lib/json-body.ts';
import type { SandboxIdentity } from '../sandbox/service.ts';
import { type ToolCaller, toolSentence, type WorkspaceTool } from '../workspace-tool/tools.ts';
import { goneSignal, withoutIdleLimit } from './answer.ts';
import type { ToolAnswer } from './mcp-server.ts';
import { readBody, TooLargeError } from './read-body.ts';
import type { GatewayRoute } from './server.ts';
import { createCounter } from './slots.ts';

const PREFIX = '/mcp/';
const MAX_BODY_BYTES = 256 * 1_024;
const MAX_DEPTH = 50;
/** Tools ask others in the organization's name, who have limits of their own. */
const MAX_AT_ONCE = 8;

/**
 * The service's own MCP server, for the agents of replicas: streamable HTTP without sessions, so that every request stands
 * for itself and nothing is lost with a process.
 */
export function createMcpRoute(tools: Record<string, WorkspaceTool>, log: Logger): GatewayRoute {
  const running = createCounter(MAX_AT_ONCE);

  async function use(
    asked: { name: string; arguments?: unknown },
    caller: ToolCaller,
    signal: AbortSignal,
  ): Promise<ToolAnswer> {
    const tool = Object.hasOwn(tools, asked.name) ? tools[asked.name] : undefined;
    if (!tool) return failed(`There is no tool ${asked.name}.`);
    const leave = running.take(caller.sandboxId);
    if (!leave) return failed('This workspace uses too many tools at once; wait for an answer first.');
    try {
      const result = await tool.run(caller, asked.arguments ?? {}, signal);
      return { content: [{ type: 'text' as const, text: JSON.stringify(result) }] };
    } catch (error) {
      return failed(explain(error, asked.name));
    } finally {
      leave();
    }
  }

  function explain(error: unknown, tool: string): string {
    if (error instanceof z.ZodError) return z.prettifyError(error);
    const sentence = toolSentence(error);
    if (sentence === null) log.error({ err: error, tool }, 'tool.failed');
    return sentence ?? 'The service could not do this; try again later.';
  }

  async function handle(
    request: IncomingMessage,
    response: ServerResponse,
    identity: SandboxIdentity,
  ): Promise<void> {
    const { replicaId } = identity;
    const chatId = z.guid().safeParse(request.url?.split('?', 1)[0]?.slice(PREFIX.length));
    if (!chatId.success || !replicaId) throw notFound('Path');
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const body = await readMessage(request);
    const caller = { ...identity, replicaId, chatId: chatId.data };
    const signal = goneSignal(response);
    // Loaded with the first request: it is large, and a start should not wait for it.
    const { serveMcp } = await import('./mcp-server.ts');
    await withoutIdleLimit(request, () =>
      serveMcp({ tools, use: (call) => use(call, caller, signal), request, response, body }),
    );
  }

  return { prefix: PREFIX, handle };
}

function failed(text: string): ToolAnswer {
  return { content: [{ type: 'text', text }], isError: true };
}

async function readMessage(request: IncomingMessage): Promise<unknown> {
  const message = await readJson(request);
  // The protocol knows no batches any more, and one would do any number of things with one request.
  if (Array.isArray(message)) throw new AppError('invalid_request', 'Send one message at a time.');
  return message;
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  try {
    return parseJsonBody(await readBody(request, { maxBytes: MAX_BODY_BYTES }), { maxDepth: MAX_DEPTH });
  } catch (error) {
    if (error instanceof TooLargeError) throw new AppError('payload_too_large', error.message);
    if (error instanceof JsonBodyError) throw new AppError('invalid_json', `The ${error.message}.`);
    throw error;
  }
}
