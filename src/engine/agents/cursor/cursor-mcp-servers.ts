import type { McpServer } from '../../protocol.ts';
import type { CursorMcpServer } from './cursor-sdk.ts';

/** MCP servers as Cursor wants them. It would start them with few variables, so they are given all of the workspace. */
export function cursorMcpServers(
  mcpServers: Readonly<Record<string, McpServer>>,
  environment: Readonly<Record<string, string>>,
): Record<string, CursorMcpServer> {
  return Object.fromEntries(
    Object.entries(mcpServers).map(([name, server]) => [name, toCursorServer(server, environment)]),
  );
}

function toCursorServer(server: McpServer, environment: Readonly<Record<string, string>>): CursorMcpServer {
  if (server.transport !== 'stdio') {
    const { transport: type, url, headers } = server;
    return { type, url, headers };
  }
  const { command, args, env } = server;
  return { type: 'stdio', command, args, env: { ...environment, ...env } };
}
