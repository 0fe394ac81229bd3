type McpRequest = {
  id?: unknown;
  method?: string;
  params?: { protocolVersion?: string; arguments?: object };
};

/** What an MCP server with one tool, `ping`, answers; null to a notification. The tool says who was called and how. */
export function answerMcp(request: McpRequest, name: string): object | null {
  if (request.id === undefined) return null;
  return { jsonrpc: '2.0', id: request.id, result: resultOf(request, name) };
}

/** What the tool of the server says. */
export function pong(name: string): string {
  return `pong from ${name}`;
}

function resultOf({ method, params = {} }: McpRequest, name: string): object {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name, version: '1' },
    };
  if (method === 'tools/list')
    return {
      tools: [{ name: 'ping', description: 'Answers.', inputSchema: { type: 'object', properties: {} } }],
    };
  if (method === 'tools/call') return { content: [{ type: 'text', text: pong(name) }] };
  return {};
}
