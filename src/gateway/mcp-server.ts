import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { version } from '../lib/version.ts';
import type { WorkspaceTool } from '../workspace-tool/tools.ts';

export type ToolAnswer = { content: { type: 'text'; text: string }[]; isError?: boolean };

/**
 * Answers one request of the protocol, without sessions: a server is made for it and ends with it.
 */
export async function serveMcp(asked: {
  tools: Record<string, WorkspaceTool>;
  use(call: { name: string; arguments?: unknown }): Promise<ToolAnswer>;
  request: IncomingMessage;
  response: ServerResponse;
  body: unknown;
}): Promise<void> {
  const { tools, use, request, response, body } = asked;
  const server = new Server({ name: 'replica-workspace', version }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listOf(tools) }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => use(params));
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.once('close', () => void server.close());
  // The optional parts of the SDK's own types are not exact.
  await server.connect(transport as Parameters<typeof server.connect>[0]);
  await transport.handleRequest(request, response, body);
}

function listOf(tools: Record<string, WorkspaceTool>) {
  return Object.entries(tools).map(([name, { description, input }]) => ({
    name,
    description,
    inputSchema: z.toJSONSchema(input, { io: 'input' }) as { type: 'object' },
  }));
}
