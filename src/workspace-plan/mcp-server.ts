import { mcpConfig } from '../contract/mcp.ts';
import type { McpServer } from '../engine/protocol.ts';
import type { Mcp } from '../mcp/service.ts';

/** An MCP server as the engine takes it, without fields that only the API keeps; null when its config does not fit. */
export function toMcpServer({ transport, config }: Pick<Mcp, 'transport' | 'config'>): McpServer | null {
  if (transport === 'stdio') {
    const parsed = mcpConfig.stdio.safeParse(config);
    if (!parsed.success) return null;
    const { command, args = [], env = {} } = parsed.data;
    return { transport, command, args, env };
  }
  const parsed = mcpConfig[transport].safeParse(config);
  if (!parsed.success) return null;
  const { url, headers = {} } = parsed.data;
  return { transport, url, headers };
}
