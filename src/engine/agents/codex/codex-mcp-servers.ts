import type { McpServer } from '../../protocol.ts';
import type { JsonObject } from '../agent.ts';

export type CodexMcpServers = {
  /** For codex's own setting `mcp_servers`. */
  servers: Record<string, JsonObject>;
  /** The names of those that codex cannot speak to. */
  leftOut: string[];
};

/** MCP servers as codex wants them. It starts them with few variables, so that those they need are named. */
export function codexMcpServers(
  mcpServers: Record<string, McpServer>,
  variables: readonly string[],
): CodexMcpServers {
  const servers: Record<string, JsonObject> = {};
  const leftOut: string[] = [];
  for (const [name, server] of Object.entries(mcpServers)) {
    if (server.transport === 'stdio') {
      const { command, args, env } = server;
      servers[name] = { command, args, env, env_vars: variables, ...limits };
    } else if (server.transport === 'http') {
      servers[name] = { url: server.url, http_headers: server.headers, ...limits };
    } else leftOut.push(name);
  }
  return { servers, leftOut };
}

/** The first start of a server may have to download it. */
const limits = { startup_timeout_sec: 60, tool_timeout_sec: 600 };
